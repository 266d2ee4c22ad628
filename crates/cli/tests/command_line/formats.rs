//! The formats of `--output`: what they look like, and that programs that others wrote read them.

use super::*;

/// A race under a lock and a deadlock, with source.
const BANK: &str = "\
main: fork a @ bank.c:20:5 (main)
main: fork b @ bank.c:21:5 (main)
a: begin
a: acquire m @ bank.c:4:5 (pay)
a: acquire n @ bank.c:5:5 (pay)
a: write balance = 1 @ bank.c:6:13 (pay)
a: release n @ bank.c:7:5 (pay)
a: release m @ bank.c:8:5 (pay)
b: begin
b: acquire n @ bank.c:12:5 (show)
b: acquire m @ bank.c:13:5 (show)
b: release m @ bank.c:14:5 (show)
b: release n @ bank.c:15:5 (show)
b: read balance : 1 @ bank.c:16:12 (show)
";

fn bank(test: &str) -> Folder {
    let folder = Folder::new(test);
    folder.file("bank.trace", BANK);
    folder
}

/// What the report is in a format.
fn written(folder: &Folder, format: &str) -> String {
    let arguments = format!("predict bank.trace --output {format}");
    let output = folder.command(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn lines_for_editors() {
    expect![[r#"
        bank.c:5:5: error: deadlock: lock cycle over n, m: a waits to acquire n at bank.c:5:5 (pay); b waits to acquire m at bank.c:13:5 (show) [lock-cycle-1, real]
        bank.c:6:13: error: data race on balance: a is about to write balance : 1 at bank.c:6:13 (pay); b is about to read balance at bank.c:16:12 (show) [race-1, real]
    "#]].assert_eq(&written(&bank("format-lines"), "lines"));
}

#[test]
fn annotations_of_github() {
    expect![[r#"
        ::error file=bank.c,line=5,col=5,title=deadlock%3A lock cycle over n%2C m::deadlock: lock cycle over n, m: a waits to acquire n at bank.c:5:5 (pay); b waits to acquire m at bank.c:13:5 (show) [lock-cycle-1, real]
        ::error file=bank.c,line=6,col=13,title=data race on balance::data race on balance: a is about to write balance : 1 at bank.c:6:13 (pay); b is about to read balance at bank.c:16:12 (show) [race-1, real]
    "#]].assert_eq(&written(&bank("format-github"), "github"));
}

#[test]
fn text_as_of_threadsanitizer() {
    expect![[r#"
        ==================
        WARNING: ThreadSanitizer: lock-order-inversion (potential deadlock) (pid=1)
          Thread a waits to acquire n (mutexes: write M0):
            #0 pay bank.c:5:5

          Thread b waits to acquire m (mutexes: write M1):
            #0 show bank.c:13:5

          Mutex M0 (m) acquired here:
            #0 pay bank.c:4:5

          Mutex M1 (n) acquired here:
            #0 show bank.c:12:5

          Thread a (tid=1, running) created by main thread at:
            #0 main bank.c:20:5

          Thread b (tid=1, running) created by main thread at:
            #0 main bank.c:21:5

        SUMMARY: ThreadSanitizer: lock-order-inversion (potential deadlock) bank.c:5:5 in pay
        ==================
        ==================
        WARNING: ThreadSanitizer: data race (pid=1)
          Write of size 1 at 0x000000000000 by thread a (mutexes: write M0, write M1):
            #0 pay bank.c:6:13

          Previous read of size 1 at 0x000000000000 by thread b:
            #0 show bank.c:16:12

          Location is global 'balance' of size 1 at 0x000000000000

          Mutex M0 (m) acquired here:
            #0 pay bank.c:4:5

          Mutex M1 (n) acquired here:
            #0 pay bank.c:5:5

          Thread a (tid=1, running) created by main thread at:
            #0 main bank.c:20:5

          Thread b (tid=1, running) created by main thread at:
            #0 main bank.c:21:5

        SUMMARY: ThreadSanitizer: data race bank.c:6:13 in pay
        ==================
        ThreadSanitizer: reported 2 warnings
    "#]]
    .assert_eq(&written(&bank("format-tsan"), "tsan"));
}

/// JUnit without the text of each failure, which is that of the report for people.
fn without_texts(xml: &str) -> String {
    let (parts, last) = xml.rsplit_once("</failure>").unwrap();
    let cut = |part: &str| format!("{}…</failure>", &part[..part.rfind("\">").unwrap() + 2]);
    parts.split("</failure>").map(cut).collect::<String>() + last
}

#[test]
fn junit() {
    expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="foretrace" tests="5" failures="2" errors="0" skipped="2">
          <testsuite name="bank.trace" tests="5" failures="2" errors="0" skipped="2" time="0">
            <testcase classname="bank.trace" name="data race on balance (3ee6bc647506bd5b)" file="bank.c" line="6"><failure type="race" message="data race on balance: a is about to write balance : 1 at bank.c:6:13 (pay); b is about to read balance at bank.c:16:12 (show) (real)">…</failure></testcase>
            <testcase classname="bank.trace" name="no atomicity violation"><skipped message="not checked: the trace marks no atomic regions (use --infer-regions to treat critical sections as atomic)"/></testcase>
            <testcase classname="bank.trace" name="deadlock: lock cycle over n, m (a9ceefa6916dbf87)" file="bank.c" line="5"><failure type="lock-cycle" message="deadlock: lock cycle over n, m: a waits to acquire n at bank.c:5:5 (pay); b waits to acquire m at bank.c:13:5 (show) (real)">…</failure></testcase>
            <testcase classname="bank.trace" name="no lock error"/>
            <testcase classname="bank.trace" name="no failing assertion"><skipped message="not checked: the trace has no assertions"/></testcase>
          </testsuite>
        </testsuites>
    "#]].assert_eq(&without_texts(&written(&bank("format-junit"), "junit")));
}

#[test]
fn sarif() {
    let sarif = written(&bank("format-sarif"), "sarif");
    // The rules are the same in every log.
    let (start, end) =
        (sarif.find("\"rules\": [").unwrap(), sarif.find("\"semanticVersion\"").unwrap());
    expect![[r#"
        {
         "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
         "runs": [
          {
           "columnKind": "unicodeCodePoints",
           "invocations": [
            {
             "executionSuccessful": true,
             "toolExecutionNotifications": [{"descriptor":{"id":"no-regions"},"level":"note","message":{"text":"not checked: atomicity: the trace marks no atomic regions (use --infer-regions to treat critical sections as atomic)"}},{"descriptor":{"id":"no-assertions"},"level":"note","message":{"text":"not checked: assertion: the trace has no assertions"}}]
            }
           ],
           "originalUriBaseIds": {
            "SRCROOT": {
             "description": {"text":"the folder in which foretrace ran"}
            }
           },
           "results": [
            {
             "codeFlows": [{"message":{"text":"A schedule with 3 context switches that leads to it."},"threadFlows":[{"id":"main","locations":[{"executionOrder":1,"importance":"important","location":{"logicalLocations":[{"fullyQualifiedName":"main","kind":"function"}],"message":{"text":"fork a"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":20}}}},{"executionOrder":2,"importance":"important","location":{"logicalLocations":[{"fullyQualifiedName":"main","kind":"function"}],"message":{"text":"fork b"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":21}}}}],"message":{"text":"main"}},{"id":"a","locations":[{"executionOrder":8,"importance":"important","location":{"message":{"text":"begin"}}},{"executionOrder":9,"importance":"important","location":{"logicalLocations":[{"fullyQualifiedName":"pay","kind":"function"}],"message":{"text":"acquire m"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":4}}}},{"executionOrder":10,"importance":"important","location":{"logicalLocations":[{"fullyQualifiedName":"pay","kind":"function"}],"message":{"text":"acquire n"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":5}}}},{"executionOrder":11,"importance":"essential","location":{"logicalLocations":[{"fullyQualifiedName":"pay","kind":"function"}],"message":{"text":"write balance : 1"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":13,"startLine":6}}}}],"message":{"text":"a"}},{"id":"b","locations":[{"executionOrder":3,"importance":"important","location":{"message":{"text":"begin"}}},{"executionOrder":4,"importance":"important","location":{"logicalLocations":[{"fullyQualifiedName":"show","kind":"function"}],"message":{"text":"acquire n"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":12}}}},{"executionOrder":5,"importance":"important","location":{"logicalLocations":[{"fullyQualifiedName":"show","kind":"function"}],"message":{"text":"acquire m"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":13}}}},{"executionOrder":6,"importance":"important","location":{"logicalLocations":[{"fullyQualifiedName":"show","kind":"function"}],"message":{"text":"release m"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":14}}}},{"executionOrder":7,"importance":"important","location":{"logicalLocations":[{"fullyQualifiedName":"show","kind":"function"}],"message":{"text":"release n"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":15}}}},{"executionOrder":12,"importance":"essential","location":{"logicalLocations":[{"fullyQualifiedName":"show","kind":"function"}],"message":{"text":"read balance"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":12,"startLine":16}}}}],"message":{"text":"b"}}]}],
             "fingerprints": {"foretrace/places/v1":"47730ea447274747"},
             "level": "error",
             "locations": [{"logicalLocations":[{"fullyQualifiedName":"pay","kind":"function"}],"message":{"text":"a is about to write balance : 1 at bank.c:6:13 (pay)"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":13,"startLine":6}}}],
             "message": {"text":"data race on balance: a is about to write balance : 1 at bank.c:6:13 (pay); b is about to read balance at bank.c:16:12 (show) (real)."},
             "partialFingerprints": {"foretrace/cause/v1":"5642a36ebd7005ef","foretrace/v1":"3ee6bc647506bd5b"},
             "properties": {"certainty":"real","contextSwitches":3,"evidence":null,"id":"race-1","model":"symbolic","object":"balance","replay":null,"trace":"bank.trace"},
             "relatedLocations": [{"id":0,"logicalLocations":[{"fullyQualifiedName":"pay","kind":"function"}],"message":{"text":"a took m"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":4}}},{"id":1,"logicalLocations":[{"fullyQualifiedName":"pay","kind":"function"}],"message":{"text":"a took n"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":5}}},{"id":2,"logicalLocations":[{"fullyQualifiedName":"show","kind":"function"}],"message":{"text":"b is about to read balance at bank.c:16:12 (show)"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":12,"startLine":16}}},{"id":3,"logicalLocations":[{"fullyQualifiedName":"main","kind":"function"}],"message":{"text":"a was created by main"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":20}}},{"id":4,"logicalLocations":[{"fullyQualifiedName":"main","kind":"function"}],"message":{"text":"b was created by main"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":21}}}],
             "ruleId": "race",
             "ruleIndex": 0
            },
            {
             "codeFlows": [{"message":{"text":"A schedule with 3 context switches that leads to it."},"threadFlows":[{"id":"main","locations":[{"executionOrder":1,"importance":"important","location":{"logicalLocations":[{"fullyQualifiedName":"main","kind":"function"}],"message":{"text":"fork a"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":20}}}},{"executionOrder":2,"importance":"important","location":{"logicalLocations":[{"fullyQualifiedName":"main","kind":"function"}],"message":{"text":"fork b"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":21}}}}],"message":{"text":"main"}},{"id":"a","locations":[{"executionOrder":3,"importance":"important","location":{"message":{"text":"begin"}}},{"executionOrder":4,"importance":"important","location":{"logicalLocations":[{"fullyQualifiedName":"pay","kind":"function"}],"message":{"text":"acquire m"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":4}}}},{"executionOrder":7,"importance":"essential","location":{"logicalLocations":[{"fullyQualifiedName":"pay","kind":"function"}],"message":{"text":"acquire n"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":5}}}}],"message":{"text":"a"}},{"id":"b","locations":[{"executionOrder":5,"importance":"important","location":{"message":{"text":"begin"}}},{"executionOrder":6,"importance":"important","location":{"logicalLocations":[{"fullyQualifiedName":"show","kind":"function"}],"message":{"text":"acquire n"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":12}}}},{"executionOrder":8,"importance":"essential","location":{"logicalLocations":[{"fullyQualifiedName":"show","kind":"function"}],"message":{"text":"acquire m"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":13}}}}],"message":{"text":"b"}}]}],
             "fingerprints": {"foretrace/places/v1":"1406b1f939f36f9e"},
             "level": "error",
             "locations": [{"logicalLocations":[{"fullyQualifiedName":"pay","kind":"function"}],"message":{"text":"a waits to acquire n at bank.c:5:5 (pay)"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":5}}}],
             "message": {"text":"deadlock: lock cycle over n, m: a waits to acquire n at bank.c:5:5 (pay); b waits to acquire m at bank.c:13:5 (show) (real)."},
             "partialFingerprints": {"foretrace/cause/v1":"c3cc30597639221b","foretrace/v1":"a9ceefa6916dbf87"},
             "properties": {"certainty":"real","contextSwitches":3,"evidence":null,"id":"lock-cycle-1","model":"symbolic","object":"n, m","replay":null,"trace":"bank.trace"},
             "relatedLocations": [{"id":0,"logicalLocations":[{"fullyQualifiedName":"pay","kind":"function"}],"message":{"text":"a took m"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":4}}},{"id":1,"logicalLocations":[{"fullyQualifiedName":"show","kind":"function"}],"message":{"text":"b waits to acquire m at bank.c:13:5 (show)"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":13}}},{"id":2,"logicalLocations":[{"fullyQualifiedName":"show","kind":"function"}],"message":{"text":"b took n"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":12}}},{"id":3,"logicalLocations":[{"fullyQualifiedName":"main","kind":"function"}],"message":{"text":"a was created by main"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":20}}},{"id":4,"logicalLocations":[{"fullyQualifiedName":"main","kind":"function"}],"message":{"text":"b was created by main"},"physicalLocation":{"artifactLocation":{"uri":"bank.c","uriBaseId":"SRCROOT"},"region":{"startColumn":5,"startLine":21}}}],
             "ruleId": "lock-cycle",
             "ruleIndex": 2
            }
           ],
           "tool": {
            "driver": {
             "name": "Foretrace",
             …"semanticVersion": "0.1.0",
             "shortDescription": {"text":"Finds concurrency bugs before they happen."},
             "version": "0.1.0"
            }
           }
          }
         ],
         "version": "2.1.0"
        }
    "#]].assert_eq(&format!("{}…{}", &sarif[..start], &sarif[end..]));
}

/// A validator that `cargo xtask test` has installed.
fn validator(name: &str) -> PathBuf {
    let target = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let path = target.join("validators/sarif-multitool").join(name);
    assert!(path.is_file(), "these tests need {}: cargo xtask validators", path.display());
    path
}

#[test]
fn others_read_them() {
    let folder = bank("format-valid");
    let many: String =
        (0..40).map(|at| format!("a: write x{at} = {at} @ a.c:{at}1 (f)\n")).collect();
    let many = many
        + &(0..40).map(|at| format!("b: read x{at} : {at} @ b.c:{at}1 (g)\n")).collect::<String>();
    folder.file("many.trace", &many).file("empty.trace", "t: begin\n");
    folder.file("bank.c", &"int x;\n".repeat(30)).file("a.c", "");
    let mut files = Vec::new();
    for (name, more) in
        [("bank", "--why --timing"), ("many", "--compare-models"), ("empty", "--budget 5s")]
    {
        let outputs = ["json", "sarif", "xml"].map(|ending| {
            let format = if ending == "xml" { "junit" } else { ending };
            files.push(format!("{name}.{ending}"));
            format!("--output {format}={name}.{ending}")
        });
        let arguments = format!("predict {name}.trace {more} {}", outputs.join(" "));
        folder.command(&arguments).output().unwrap();
    }
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/report.schema.json");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/command_line/validate.py");
    let mut python = Command::new("/usr/bin/python3");
    python.current_dir(&folder.0).args(["-W", "ignore", script, schema]);
    let output = python.arg(validator("sarif-2.1.0.json")).args(&files).output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("many.xml 44 tests 40 failures"), "{said}");

    let logs = files.iter().filter(|file| file.ends_with(".sarif"));
    let mut multitool = Command::new(validator("Sarif.Multitool"));
    multitool.env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1").env("HOME", &folder.0);
    let output = multitool.current_dir(&folder.0).arg("validate").args(logs).output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success() && said.contains("3 files scanned"), "{said}");
    assert!(!said.contains(": error "), "{said}");
}
