//! Typed ids of what only a program has.

foretrace_trace::ids! {
    /// A function of a program.
    FunctionId,
    /// A block of a function.
    BlockId,
    /// A register of a function.
    RegisterId,
    /// A global variable of a program.
    GlobalId,
}
