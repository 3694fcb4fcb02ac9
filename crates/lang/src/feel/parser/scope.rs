//! Which name means what: slots of this function, what it takes along, or something from outside.

use std::sync::Arc;

use travertine_value::Name;

use super::{
    super::{
        lexer::Token,
        names::Names,
        tree::{At, Entry, Expr},
    },
    Parsed, Parser,
};

/// The names inside an expression.
pub(super) struct Scopes {
    /// One for each function around this place, and one for the expression itself.
    frames: Vec<Frame>,
    /// Every name that was bound so far, to recognise those of several words.
    seen: Names,
    reads: Vec<Name>,
    /// Those of them that stand outside of filters, too.
    needs: Vec<Name>,
}

#[derive(Default)]
struct Frame {
    bindings: Vec<Binding>,
    captures: Vec<(Name, Expr)>,
    /// The name by which the function can call itself.
    this: Option<Name>,
}

struct Binding {
    kind: Kind,
    is_used: bool,
}

enum Kind {
    Variable(Name),
    /// The item of a filter, whose entries are names too.
    Item,
}

impl Scopes {
    pub(super) fn new() -> Self {
        Self {
            frames: vec![Frame::default()],
            seen: Names::new(),
            reads: Vec::new(),
            needs: Vec::new(),
        }
    }

    /// The names it may read from outside, and those that it reads whatever the values are.
    pub(super) fn into_reads(self) -> (Vec<Name>, Vec<Name>) {
        (self.reads, self.needs)
    }

    /// What a name means at this place.
    fn resolve(&mut self, name: &Name, at: At) -> Expr {
        let frame = self.frames.len() - 1;
        let bindings = self.frames[frame].bindings.len();
        self.resolve_in(frame, bindings, name, at)
    }

    /// What a name means to the first `bindings` of a frame and everything outside of it.
    fn resolve_in(&mut self, frame: usize, bindings: usize, name: &Name, at: At) -> Expr {
        for slot in (0..bindings).rev() {
            let binding = &mut self.frames[frame].bindings[slot];
            match &binding.kind {
                Kind::Variable(known) if known == name => {
                    binding.is_used = true;
                    return Expr::Local(slot);
                }
                Kind::Variable(_) => {}
                Kind::Item => {
                    let otherwise = if &**name == "item" {
                        Expr::Local(slot)
                    } else {
                        self.resolve_in(frame, slot, name, at)
                    };
                    let entry = Entry { item: slot, name: Name::clone(name), otherwise };
                    return Expr::Entry(Box::new(entry));
                }
            }
        }
        if self.frames[frame].this.as_ref() == Some(name) {
            return Expr::ThisFunction;
        }
        if frame == 0 {
            if !self.reads.contains(name) {
                self.reads.push(Name::clone(name));
            }
            if !self.is_in_filter() && !self.needs.contains(name) {
                self.needs.push(Name::clone(name));
            }
            return Expr::Global(Name::clone(name), at);
        }
        let captures = &self.frames[frame].captures;
        if let Some(index) = captures.iter().position(|(known, _)| known == name) {
            return Expr::Captured(index);
        }
        let outer = self.frames[frame - 1].bindings.len();
        let captured = self.resolve_in(frame - 1, outer, name, at);
        let captures = &mut self.frames[frame].captures;
        captures.push((Name::clone(name), captured));
        Expr::Captured(captures.len() - 1)
    }

    /// Whether a variable of this name is bound inside the expression.
    fn has_local(&self, name: &str) -> bool {
        self.frames.iter().any(|frame| {
            frame.this.as_deref() == Some(name)
                || frame
                    .bindings
                    .iter()
                    .any(|it| matches!(&it.kind, Kind::Variable(known) if &**known == name))
        })
    }

    fn is_in_filter(&self) -> bool {
        self.frames
            .iter()
            .flat_map(|it| &it.bindings)
            .any(|binding| matches!(binding.kind, Kind::Item))
    }

    fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("the expression itself is always there")
    }
}

impl Parser<'_> {
    /// Binds a name to the next slot.
    pub(super) fn bind(&mut self, name: &str) {
        self.scopes.seen.add(name);
        self.push(Kind::Variable(Arc::from(name)));
    }

    /// Binds the item of a filter to the next slot.
    pub(super) fn bind_item(&mut self) {
        self.push(Kind::Item);
    }

    fn push(&mut self, kind: Kind) {
        self.scopes.frame().bindings.push(Binding { kind, is_used: false });
    }

    /// Forgets the last binding, and says whether it was used.
    pub(super) fn unbind(&mut self) -> bool {
        self.scopes.frame().bindings.pop().is_some_and(|it| it.is_used)
    }

    /// Remembers a name that can stand behind a dot.
    pub(super) fn remember_component(&mut self, name: &str) {
        self.scopes.seen.add_component(name);
    }

    /// Parses the body of a function in a frame of its own. Returns what it takes along, too.
    pub(super) fn in_function<T>(
        &mut self,
        this: Option<Name>,
        parse: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<(T, Vec<Expr>)> {
        self.scopes.frames.push(Frame { this, ..Frame::default() });
        let parsed = parse(self);
        let frame = self.scopes.frames.pop().expect("it was just pushed");
        Ok((parsed?, frame.captures.into_iter().map(|(_, expr)| expr).collect()))
    }

    pub(super) fn resolve(&mut self, name: &Name, at: At) -> Expr {
        self.scopes.resolve(name, at)
    }

    /// Whether somebody has told us of a variable with this name.
    pub(super) fn knows_variable(&self, name: &str) -> bool {
        self.scopes.has_local(name) || self.names.has_variable(name)
    }

    /// Whether names can mean entries of an item here.
    pub(super) fn is_in_filter(&self) -> bool {
        self.scopes.is_in_filter()
    }

    /// How many of the words to come form the longest known name of a variable, and that name. One
    /// word is always a name.
    pub(super) fn variable_ahead(&self) -> (usize, Name) {
        let components = self.scopes.is_in_filter();
        self.known_ahead(components)
    }

    /// How many of the words to come form the longest known name behind a dot, and that name. One word is
    /// always a name.
    pub(super) fn component_ahead(&self) -> (usize, Name) {
        const PROPERTIES: [[&str; 2]; 3] =
            [["time", "offset"], ["start", "included"], ["end", "included"]];
        let known = self.known_ahead(true);
        let starts = |it: &&[&str; 2]| (0..2).all(|at| self.word_ahead(at) == Some(it[at]));
        match PROPERTIES.iter().find(starts) {
            Some(property) if known.0 < 2 => (2, property.join(" ").into()),
            _ => known,
        }
    }

    fn known_ahead(&self, components: bool) -> (usize, Name) {
        let alone = match self.token() {
            Token::Quoted(name) => return (1, Name::clone(name)),
            Token::Word(word) => (1, Name::clone(word)),
            _ => (1, Name::from("")),
        };
        let Some(first) = self.word_ahead(0) else { return alone };
        let word = |ahead| self.word_ahead(ahead);
        let sources = [self.names.longest(first, word), self.scopes.seen.longest(first, word)];
        let usable = sources.into_iter().flatten().filter(|it| components || it.2);
        let longest =
            usable.max_by_key(|it| it.0).map(|(words, name, _)| (words, Name::clone(name)));
        longest.unwrap_or(alone)
    }
}
