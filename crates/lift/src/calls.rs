//! Calls of functions of the program: direct ones, computed ones, and those of the library that are
//! programs themselves.

use foretrace_image as image;
use foretrace_program::{Callee, FunctionId, Op, Operand, RegisterId};
use foretrace_words::Cast;

use crate::function::Body;

impl Body<'_> {
    /// A call of a function of the library that is a program. The code may declare it with other
    /// widths: a `size_t` of 32 bits, or a result that is cut.
    pub(crate) fn call_model(
        &mut self,
        function: FunctionId,
        arguments: &[image::Operand],
        to: Option<RegisterId>,
        width: u8,
    ) {
        let (params, gives) = self.lifting.signatures[function.index()].clone();
        let own = |this: &Self, argument: image::Operand, param: u8| {
            this.width(argument).filter(|&own| own != param && own < 64)
        };
        let differs =
            arguments.iter().zip(&params).any(|(&one, &param)| own(self, one, param).is_some());
        let is_cut = to.is_some() && gives.is_some_and(|gives| gives != width);
        if !differs && !is_cut || params.len() > arguments.len() || to.is_some() && gives.is_none()
        {
            return self.call(function, arguments, to, width);
        }
        let mut args = Vec::new();
        for (&argument, param) in arguments.iter().zip(params) {
            let from = own(self, argument, param).unwrap_or(param);
            let value = self.operand(argument, from);
            args.push(self.resized(value, from, param));
        }
        let op = Op::Call { callee: Callee::Direct(function), args };
        match (to, gives) {
            (Some(to), Some(gives)) if gives != width => {
                let given = self.compute(op, gives);
                let cast = if gives > width { Cast::Truncate } else { Cast::ZeroExtend };
                self.emit(Op::Cast { cast, value: given }, Some(to));
            }
            _ => self.emit(op, to),
        }
    }

    /// A call of a function of the program, which may have more arguments than the function takes.
    pub(crate) fn call(
        &mut self,
        function: FunctionId,
        arguments: &[image::Operand],
        to: Option<RegisterId>,
        width: u8,
    ) {
        let (params, gives) = self.lifting.signatures[function.index()].clone();
        let fits = params.len() <= arguments.len()
            && (to.is_none() || gives == Some(width))
            && arguments
                .iter()
                .zip(&params)
                .all(|(&argument, &param)| self.width(argument).is_none_or(|own| own == param));
        if !fits {
            return self
                .unknown("a call with other types than the function has", to.map(|to| to.0));
        }
        let args = arguments.iter().zip(params);
        let args = args.map(|(&arg, width)| self.operand(arg, width)).collect();
        self.emit(Op::Call { callee: Callee::Direct(function), args }, to);
    }

    /// A call of a function that a register or variable holds.
    pub(crate) fn indirect(
        &mut self,
        callee: image::Operand,
        arguments: &[image::Operand],
        to: Option<RegisterId>,
    ) {
        let callee = match self.address(callee) {
            Operand::Function(function) => {
                let result = to.and_then(|to| self.width(image::Operand::Register(to.0)));
                return self.call(function, arguments, to, result.unwrap_or(0));
            }
            computed => computed,
        };
        // The image does not say how wide constants are; the function that is meant does.
        let widths: Vec<u8> =
            arguments.iter().map(|&argument| self.width(argument).unwrap_or(64)).collect();
        let args = arguments.iter().zip(widths);
        let args = args.map(|(&argument, width)| self.operand(argument, width)).collect();
        self.emit(Op::Call { callee: Callee::Indirect(callee), args }, to);
    }
}
