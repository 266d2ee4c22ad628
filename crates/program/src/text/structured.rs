//! Bodies with `if`, whose variables are assigned.
//!
//! **Computes.** Blocks in single-assignment form. A variable is a name for an operand; an
//! assignment changes what it stands for. Where two arms meet, a variable that stands for different
//! operands becomes a parameter of the block there, and one that only one arm knows is forgotten.
//!
//! **Follows.** Definition 8.1 of 000: block parameters are its φ-functions.

use crate::ir::*;

use super::Error;
use super::body::{Body, Scope};
use super::token::Token;

/// Where an arm ends: its last block is open, with this scope.
struct ArmEnd {
    open: super::body::OpenBlock,
    scope: Scope,
}

impl Body<'_, '_> {
    pub(super) fn structured(&mut self) -> Result<(), Error> {
        let entry = self.reserve();
        self.begin(entry, Some("entry".to_string()), Vec::new());
        self.statements()?;
        if self.open.is_some() {
            if let Some(width) = self.head().result {
                return Err(self
                    .cursor
                    .error(format!("the function ends here without a result of {width} bits")));
            }
            self.location = None;
            self.terminate(TerminatorKind::Return(None));
        }
        self.cursor.expect("}")
    }

    /// Statements up to a closing brace, which is left.
    fn statements(&mut self) -> Result<(), Error> {
        loop {
            self.cursor.skip_breaks();
            if self.cursor.is_symbol("}") {
                return Ok(());
            }
            if self.open.is_none() {
                return Err(self.cursor.error("nothing gets here"));
            }
            self.find_location();
            if self.is_assignment() {
                self.statement()?;
            } else if self.cursor.eat_word("if") {
                self.conditional()?;
                continue;
            } else if let Some(kind) = self.ending()? {
                self.terminate(kind);
            } else {
                self.statement()?;
            }
            self.skip_location();
            self.cursor.expect_break()?;
        }
    }

    /// What follows `if`.
    fn conditional(&mut self) -> Result<(), Error> {
        self.enter()?;
        let condition = self.condition()?;
        self.conditionals += 1;
        let number = self.conditionals;
        let label = |part: &str| Some(format!("if{number}.{part}"));
        let [then, otherwise, end] = [self.reserve(), self.reserve(), self.reserve()];
        let target = |block| Target { block, args: Vec::new() };
        let branch =
            TerminatorKind::Branch { condition, then: target(then), otherwise: target(otherwise) };
        self.terminate(branch);
        let before = self.scope.clone();

        self.begin(then, label("then"), Vec::new());
        let then_end = self.arm()?;
        self.scope = before;
        self.begin(otherwise, label("else"), Vec::new());
        let otherwise_end = if self.find_else() {
            if self.cursor.eat_word("if") {
                self.conditional()?;
                self.arm_end()
            } else {
                self.arm()?
            }
        } else {
            self.arm_end()
        };
        self.meet(then_end, otherwise_end, end, label("end"))?;
        self.leave();
        Ok(())
    }

    /// Steps over `else`, if it is next, on this line or the next one.
    fn find_else(&mut self) -> bool {
        let ahead = usize::from(*self.cursor.peek() == Token::Break);
        let found = matches!(self.cursor.peek_at(ahead), Token::Word(word) if word == "else");
        if found {
            self.cursor.skip_breaks();
            self.cursor.next();
        }
        found
    }

    /// `{ … }`
    fn arm(&mut self) -> Result<Option<ArmEnd>, Error> {
        self.cursor.expect("{")?;
        self.skip_location();
        self.statements()?;
        self.cursor.expect("}")?;
        Ok(self.arm_end())
    }

    fn arm_end(&mut self) -> Option<ArmEnd> {
        let scope = self.scope.clone();
        self.open.take().map(|open| ArmEnd { open, scope })
    }

    /// Goes on behind two arms.
    fn meet(
        &mut self,
        then: Option<ArmEnd>,
        otherwise: Option<ArmEnd>,
        end: BlockId,
        label: Option<String>,
    ) -> Result<(), Error> {
        self.location = None;
        let (then, otherwise) = match (then, otherwise) {
            (Some(then), Some(otherwise)) => (then, otherwise),
            (None, None) => return Ok(()),
            (Some(only), None) | (None, Some(only)) => {
                self.open = Some(only.open);
                self.scope = only.scope;
                return Ok(());
            }
        };
        let mut scope = Scope::new();
        let mut params = Vec::new();
        let (mut then_args, mut otherwise_args) = (Vec::new(), Vec::new());
        for (name, &first) in &then.scope {
            let Some(&second) = otherwise.scope.get(name) else { continue };
            let width = self.width(first);
            if first == second {
                scope.insert(name.clone(), first);
            } else if width == self.width(second) {
                let register = self.register(width, Some(name));
                params.push(register);
                then_args.push(first);
                otherwise_args.push(second);
                scope.insert(name.clone(), Operand::Register(register));
            } else {
                let message = format!(
                    "`{name}` has {width} bits in one arm and {} in the other",
                    self.width(second)
                );
                return Err(self.cursor.error(message));
            }
        }
        for (arm, args) in [(then, then_args), (otherwise, otherwise_args)] {
            self.open = Some(arm.open);
            self.terminate(TerminatorKind::Jump(Target { block: end, args }));
        }
        self.scope = scope;
        self.begin(end, label, params);
        Ok(())
    }
}
