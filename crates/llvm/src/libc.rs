//! Functions of the C library that read or write memory of their caller: the runtime has its own,
//! which record what they touch.

use llvm_sys::LLVMOpcode::LLVMInvoke;

use crate::instrument::Instrumenter;
use crate::ir::{Type, Value};

/// Name, result and parameters: `p` a pointer, `i` an int, `n` a size.
const FUNCTIONS: [(&str, &str); 15] = [
    ("memchr", "p pin"),
    ("memcmp", "i ppn"),
    ("memcpy", "p ppn"),
    ("memmove", "p ppn"),
    ("memset", "p pin"),
    ("strcat", "p pp"),
    ("strchr", "p pi"),
    ("strcmp", "i pp"),
    ("strcpy", "p pp"),
    ("strdup", "p p"),
    ("strlen", "n p"),
    ("strncmp", "i ppn"),
    ("strncpy", "p ppn"),
    ("strnlen", "n pn"),
    ("strrchr", "p pi"),
];

/// Replaces a call of such a function and says whether it was one.
pub(crate) fn redirect(to: &mut Instrumenter, call: Value, name: &str) -> bool {
    // With _FORTIFY_SOURCE, the function has a last argument for what the compiler knows of the size.
    let plain = name.strip_prefix("__").and_then(|name| name.strip_suffix("_chk"));
    let Some((name, shape)) = FUNCTIONS.iter().find(|(known, _)| *known == plain.unwrap_or(name))
    else {
        return false;
    };
    let mut expected = shape.to_string();
    expected.extend(plain.map(|_| 'n'));
    let signature = call.called_type();
    if call.is_must_tail() || signature.is_variadic() || shape_of(signature) != expected {
        return false;
    }

    to.build.stand_before(call);
    let mut arguments = vec![to.site(call)];
    arguments.extend(call.arguments());
    if plain.is_some() {
        arguments.pop();
    }
    let result = signature.signature().1;
    let hook = format!("__ft_{name}");
    let replacement = to.build.hook(&hook, result, &arguments);
    if call.is_instruction(LLVMInvoke) {
        to.build.jump_to_normal_destination(call);
    }
    call.replace_uses(replacement);
    call.erase();
    true
}

fn shape_of(signature: Type) -> String {
    let letter = |of: &Type| {
        if of.is_pointer() {
            'p'
        } else if of.is_integer(32) {
            'i'
        } else if of.is_integer(64) {
            'n'
        } else {
            '?'
        }
    };
    let (parameters, result) = signature.signature();
    [letter(&result), ' '].into_iter().chain(parameters.iter().map(letter)).collect()
}
