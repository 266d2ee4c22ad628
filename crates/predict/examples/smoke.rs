use foretrace_predict::*;
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let t0 = std::time::Instant::now();
    let trace = if path.contains(".std") { foretrace_trace::import::rapidstd::parse(&bytes).unwrap() } else { foretrace_trace::text::parse(&String::from_utf8(bytes).unwrap()).unwrap() };
    eprintln!("read {:?}", t0.elapsed());
    let mut o = Options::default();
    for a in std::env::args().skip(2) { if let Some(j)=a.strip_prefix("jobs=") { o.jobs=j.parse().unwrap(); } if a=="race" { o.properties=vec![foretrace_witness::Property::Race]; } }
    let p = predict(&trace, &o, &()).unwrap();
    eprintln!("{:?} {} findings {:?}", t0.elapsed(), p.findings.len(), p.ledgers);
    let long: usize = p.findings.iter().map(|f| f.schedule.len()).sum();
    eprintln!("schedule total {long}");
    for f in p.findings.iter().take(5) { eprintln!("{:?} {:?}", f.violation, f.schedule.len()); }
}
