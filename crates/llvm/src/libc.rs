//! Functions of the C library that access memory of their caller. The runtime has versions of its
//! own, which record what they touch.

use llvm_sys::LLVMOpcode::LLVMInvoke;

use crate::instrument::Instrumenter;
use crate::ir::{Type, Value};
use crate::ranges;

/// Name, result and parameters: `p` a pointer, `i` an int, `n` a size.
const FUNCTIONS: [(&str, &str); 23] = [
    ("memccpy", "p ppin"),
    ("memchr", "p pin"),
    ("memcmp", "i ppn"),
    ("memcpy", "p ppn"),
    ("memmove", "p ppn"),
    ("mempcpy", "p ppn"),
    ("memrchr", "p pin"),
    ("memset", "p pin"),
    ("stpcpy", "p pp"),
    ("stpncpy", "p ppn"),
    ("strcat", "p pp"),
    ("strchr", "p pi"),
    ("strcmp", "i pp"),
    ("strcpy", "p pp"),
    ("strdup", "p p"),
    ("strlen", "n p"),
    ("strncasecmp", "i ppn"),
    ("strncat", "p ppn"),
    ("strncmp", "i ppn"),
    ("strncpy", "p ppn"),
    ("strndup", "p pn"),
    ("strnlen", "n pn"),
    ("strrchr", "p pi"),
];

/// A function that the runtime has a hook for.
#[derive(Clone, Copy)]
pub(crate) struct Library {
    pub(crate) name: &'static str,
    /// With _FORTIFY_SOURCE, it has a last argument for what the compiler knows of the size.
    is_fortified: bool,
}

impl Library {
    /// Which one is called, if it is one.
    pub(crate) fn called_by(call: Value, name: &str) -> Option<Library> {
        let plain = name.strip_prefix("__").and_then(|name| name.strip_suffix("_chk"));
        let is_fortified = plain.is_some();
        let (name, shape) = FUNCTIONS.iter().find(|(known, _)| *known == plain.unwrap_or(name))?;
        let mut expected = shape.to_string();
        expected.extend(plain.map(|_| 'n'));
        let signature = call.called_type();
        let fits =
            !call.is_must_tail() && !signature.is_variadic() && shape_of(signature) == expected;
        fits.then_some(Library { name, is_fortified })
    }

    /// What the hook gets of the call's arguments.
    pub(crate) fn arguments(self, call: Value) -> Vec<Value> {
        let mut arguments = call.arguments();
        if self.is_fortified {
            arguments.pop();
        }
        arguments
    }

    /// Whether all that it does is to copy or fill memory; it then returns its first argument.
    pub(crate) fn is_range(self) -> bool {
        matches!(self.name, "memcpy" | "memmove" | "memset")
    }
}

/// Replaces a call of such a function. What it returns is recorded, unless that is clear.
pub(crate) fn redirect(to: &mut Instrumenter, call: Value, library: Library) {
    to.build.stand_before(call);
    let site = to.site(call);
    let mut arguments = vec![site];
    arguments.extend(library.arguments(call));
    if library.is_range() {
        ranges::note_size(to, site, call.operand(2));
    }
    let result = call.called_type().signature().1;
    let replacement = to.build.hook(&format!("__ft_{}", library.name), result, &arguments);
    if !library.is_range() {
        let returned = to.build.to_i64(replacement);
        to.build.hook("__ft_return", to.build.void, &[site, returned]);
    }
    if call.is_instruction(LLVMInvoke) {
        to.build.jump_to_normal_destination(call);
    }
    call.replace_uses(replacement);
    call.erase();
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
