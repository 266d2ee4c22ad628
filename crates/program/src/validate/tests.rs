//! One damage per rule; loops, recursion, orders.

use expect_test::{Expect, expect};

use super::*;
use crate::text::parse;

fn check(text: &str, damage: impl FnOnce(&mut Program), expected: Expect) {
    let mut program = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    damage(&mut program);
    expected.assert_eq(
        &validate(&program).map_or_else(|invalid| invalid.to_string(), |()| "valid".to_string()),
    );
}

const PROGRAM: &str = "
global x
lock m
func f(a: 32) -> 32 {
  entry:
    b = load x
    branch a == b, then(1), else
  then(c: 32):
    acquire m
    return c
  else:
    d = u8(a)
    return b
}
thread t = f(1)";

#[test]
fn a_use_needs_a_definition_on_every_way() {
    check(PROGRAM, |_| (), expect!["valid"]);
    let text = "
global x
func f() -> 32 {
  entry:
    branch load x == 0, one, two
  one:
    a = load x
    jump two
  two:
    return a
}";
    check(text, |_| (), expect!["f: return a: `a` is not defined on every way to this use"]);
    let first = |program: &mut Program| program.functions[0].blocks[0].instructions.swap(0, 1);
    check(PROGRAM, first, expect!["f: %2 = a == b: `b` is not defined on every way to this use"]);
}

#[test]
fn damaged_programs() {
    type Damage = fn(&mut Program);
    let check = |damage: Damage, expected: Expect| check(PROGRAM, damage, expected);
    check(
        |p| p.functions[0].blocks.clear(),
        expect!["function `f`: a function has at least one block"],
    );
    check(|p| p.globals[0].size = 0, expect!["global `x`: a variable has at least one byte"]);
    check(
        |p| p.globals[0].initial = vec![1; 5],
        expect!["global `x`: the initial bytes are too many, or the last one is zero"],
    );
    check(
        |p| p.globals.push(p.globals[0].clone()),
        expect!["global or function `x`: the name is declared twice"],
    );
    check(
        |p| p.globals[0].name = "f".to_string(),
        expect!["global or function `f`: the name is declared twice"],
    );
    check(
        |p| p.locks.clear(),
        expect!["function `f`, block 1, instruction 0: lock 0 does not exist"],
    );
    check(
        |p| p.globals.clear(),
        expect!["function `f`, block 0, instruction 0: global 0 does not exist"],
    );
    check(|p| p.threads[0].args.clear(), expect!["thread `t`: 0 arguments for 1 parameters"]);
    check(
        |p| p.threads[0].function = FunctionId(7),
        expect!["thread `t`: function 7 does not exist"],
    );
    check(
        |p| p.functions[0].registers[1].width = 8,
        expect!["f: b = load x: the result has 8 bits, not 32"],
    );
    check(
        |p| p.functions[0].registers[4].width = 33,
        expect!["f: d = u33(a): an extension has more bits than its operand, a truncation fewer"],
    );
    check(
        |p| p.functions[0].registers[1].width = 65,
        expect!["function `f`: a register has 1 to 64 bits, not 65"],
    );
    check(
        |p| p.functions[0].registers.truncate(2),
        expect!["function `f`: register 2 does not exist"],
    );
    check(
        |p| p.functions[0].blocks[0].instructions[0].result = None,
        expect!["function `f`: `b` is defined 0 times, not once"],
    );
    check(
        |p| p.functions[0].blocks[0].instructions[0].result = Some(RegisterId(0)),
        expect!["function `f`: `a` is defined 2 times, not once"],
    );
    check(
        |p| p.functions[0].blocks[1].params.clear(),
        expect!["function `f`: `c` is defined 0 times, not once"],
    );
    check(
        |p| p.functions[0].result = None,
        expect!["f: return c: a function returns a value if it has a result, and only then"],
    );
    check(
        |p| p.functions[0].result = Some(8),
        expect!["f: return c: an operand has 32 bits, not 8"],
    );
    check(
        |p| {
            let target = Target { block: BlockId(0), args: Vec::new() };
            p.functions[0].blocks[2].terminator.kind = TerminatorKind::Jump(target);
        },
        expect!["function `f`: the first block has no parameters, and nothing jumps to it"],
    );
    check(
        |p| {
            let target = Target { block: BlockId(9), args: Vec::new() };
            p.functions[0].blocks[2].terminator.kind = TerminatorKind::Jump(target);
        },
        expect!["function `f`, block 2, instruction 1: block 9 does not exist"],
    );
    check(
        |p| {
            let target = Target { block: BlockId(1), args: Vec::new() };
            p.functions[0].blocks[2].terminator.kind = TerminatorKind::Jump(target);
        },
        expect!["f: jump then: 0 arguments for 1 parameters"],
    );
    check(
        |p| {
            let constant = Operand::Constant(Constant { value: 300, width: 8 });
            p.functions[0].blocks[2].terminator.kind = TerminatorKind::Return(Some(constant));
        },
        expect!["f: return 300: a number does not fit in 8 bits"],
    );
    check(
        |p| {
            let op = Op::Load {
                address: Operand::Register(RegisterId(0)),
                size: 9,
                order: MemoryOrder::Plain,
            };
            p.functions[0].blocks[0].instructions[0].op = op;
        },
        expect!["f: b = load.9 a: an access has 1 to 8 bytes, not 9"],
    );
    check(
        |p| p.functions[0].blocks[1].instructions[0].location = Some(LocationId(3)),
        expect!["function `f`, block 1, instruction 0: location 3 does not exist"],
    );
}

#[test]
fn loops_and_recursion_are_found() {
    let check = |text: &str, expected: Expect| {
        let program = parse(text).unwrap_or_else(|error| panic!("{error}"));
        validate(&program).unwrap_or_else(|invalid| panic!("{invalid}"));
        let checked = check_bounded(&program);
        expected.assert_eq(
            &checked.map_or_else(|invalid| invalid.to_string(), |()| "bounded".to_string()),
        );
    };
    check(PROGRAM, expect!["bounded"]);
    check(
        "func f() {\n entry:\n jump a\n a:\n branch true, b, c\n b:\n jump a\n c:\n return\n}",
        expect!["function `f`: blocks jump in a circle: a -> b -> a"],
    );
    check(
        "func f() { call g() }\nfunc g() { fork h() }\nfunc h() { call g() }",
        expect!["function `g`: functions call each other in a circle: g -> h -> g"],
    );
    check(
        "func f() { p = &g; call *p() }\nfunc g() { call f() }",
        expect!["function `f`: functions call each other in a circle: f -> g -> f"],
    );
    check("func f() { call g(); call g() }\nfunc g() { }", expect!["bounded"]);
}

#[test]
fn orders_and_dominators() {
    let text = "
func f(a: 1) {
  entry:
    branch a, left, right
  right:
    jump end
  left:
    branch a, inner, end
  inner:
    jump end
  end:
    return
}";
    let mut function = parse(text).unwrap().functions.remove(0);
    let names = |function: &Function, order: Vec<BlockId>| -> String {
        let labels = order.iter().map(|&block| function.block(block).label.clone().unwrap());
        labels.collect::<Vec<_>>().join(" ")
    };
    let order = function.topological_order().unwrap();
    expect!["entry left inner right end"].assert_eq(&names(&function, order));
    let dominators = function.dominators();
    let dominates = |a: u32, b: u32| dominators.dominates(BlockId(a), BlockId(b));
    assert!(dominates(0, 4) && dominates(2, 3) && dominates(4, 4));
    assert!(!dominates(1, 4) && !dominates(2, 4) && !dominates(3, 2));
    assert_eq!(function.predecessors()[4], [BlockId(1), BlockId(2), BlockId(3)]);
    function.canonicalise();
    let order = function.block_ids().collect();
    expect!["entry left inner right end"].assert_eq(&names(&function, order));
}
