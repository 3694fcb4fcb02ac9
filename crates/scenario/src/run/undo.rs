//! Compensation: what was done is remembered, and undone in reverse order, one thing after the other.

use std::sync::Arc;

use travertine_value::Name;

use super::{
    Done, Simulation,
    state::{Role, ScopeId, ScopeKind, State, Then, TokenId, Undo, UndoBy, Undoing, UndoneBy},
};
use crate::model::{Kind, NodeId, Repeat, RestrictionAt};

impl Simulation {
    /// An activity is completed: what undoes it can from now on.
    pub(super) fn remember(&mut self, token: TokenId) -> Done {
        let model = Arc::clone(&self.model);
        let at = self.token(token).clone();
        let (Some(scope), false) = (at.scope, matches!(at.role, Role::Undoes(_))) else {
            return Ok(());
        };
        let make = |run: &mut Self, node, scope, status| {
            let label = Name::clone(&at.label);
            run.make(node, Some(scope), at.instance, label, Arc::new(status), Role::Memory)
        };
        let by = match (model.nodes[at.node].undone_by, at.inner) {
            (Some(by), inner) => {
                if let (Kind::EventSubProcess { start }, Some(inner)) =
                    (&model.nodes[by].kind, inner)
                {
                    let memory = make(self, *start, inner, (*at.status).clone());
                    self.mark(memory, State::Busy)?;
                    self.scope_mut(inner).kept = true;
                    UndoBy::Handler(memory, inner)
                } else {
                    if matches!(at.role, Role::Copy(_)) {
                        self.undoes_copies(token, by)?;
                    }
                    let status = self.trimmed(&at.status, self.scopes[&scope].node);
                    let memory = make(self, by, scope, status);
                    if let Role::Copy(_) = at.role {
                        self.token_mut(memory).number = at.number;
                    }
                    self.mark(memory, State::Busy)?;
                    UndoBy::Activity(memory)
                }
            }
            (None, Some(inner)) if !self.scopes[&inner].undo.is_empty() => {
                self.scope_mut(inner).kept = true;
                UndoBy::Inside(inner)
            }
            (None, _) => return Ok(()),
        };
        self.scope_mut(scope).undo.push(Undo { node: at.node, of: token, by });
        self.token_mut(token).remembered = true;
        Ok(())
    }

    /// What undoes the copies of an activity is marked as being done for each of them.
    fn undoes_copies(&self, copy: TokenId, boundary: NodeId) -> Done {
        let Kind::Boundary { leads_to: Some(by), .. } = self.model.nodes[boundary].kind else {
            return Ok(());
        };
        let by = &self.model.nodes[by];
        if let Some(Repeat::Each { .. }) = by.repeat {
            return Ok(());
        }
        let message = format!("it is done in copies, which {} alone cannot undo", by.id);
        Err(self.failed(copy, &message))
    }

    /// An activity was not let out, so there is nothing to undo.
    pub(super) fn unremember(&mut self, token: TokenId) -> Done {
        let at = self.token(token);
        if let Some(inner) = at.inner {
            self.scope_mut(inner).kept = false;
        }
        let Some(scope) = self.token(token).scope else { return Ok(()) };
        // The same token has done what came before, which stays.
        if !std::mem::take(&mut self.token_mut(token).remembered) {
            return Ok(());
        }
        let undo = &mut self.scope_mut(scope).undo;
        let Some(position) = undo.iter().rposition(|it| it.of == token) else { return Ok(()) };
        match undo.remove(position).by {
            UndoBy::Activity(memory) | UndoBy::Handler(memory, _) => self.withdraw(memory),
            UndoBy::Inside(_) => Ok(()),
        }
    }

    /// A throw event asks for what was done to be undone: the activity that has its name, or all.
    pub(super) fn compensate(&mut self, token: TokenId) -> Done {
        let label = self.node_of(token).label.clone().filter(|it| !it.is_empty());
        let own = self.token(token).scope.expect("an event is in a scope");
        let model = Arc::clone(&self.model);
        let wanted = |it: &Undo| {
            label.as_ref().is_none_or(|label| model.nodes[it.node].label.as_ref() == Some(label))
        };
        let mut found = Vec::new();
        let mut next = Some(own);
        while let Some(scope) = next {
            let it = self.scope_mut(scope);
            let (some, others) = std::mem::take(&mut it.undo).into_iter().partition(wanted);
            it.undo = others;
            let mut some: Vec<Undo> = some;
            some.append(&mut found);
            found = some;
            // What handles an event speaks of the scope around it, too.
            next = it.parent.filter(|_| it.kind != ScopeKind::Plain);
        }
        if found.is_empty() {
            return self.leave(token);
        }
        self.mark(token, State::Busy)?;
        self.undo(own, found, Then::Complete(token))
    }

    /// Undoes things in the reverse of the order in which they were done.
    pub(super) fn undo(&mut self, scope: ScopeId, done: Vec<Undo>, then: Then) -> Done {
        let id = self.number();
        let queue = done.into_iter().rev().collect();
        self.undoings.insert(id, Undoing { scope, queue, then, current: None });
        self.undo_next(id)
    }

    /// The next thing is undone.
    pub(super) fn undo_next(&mut self, id: u64) -> Done {
        let Some(undoing) = self.undoings.get_mut(&id) else { return Ok(()) };
        let Some(next) = undoing.queue.pop_front() else {
            let then = undoing.then;
            self.undoings.remove(&id);
            return match then {
                Then::Complete(token) => {
                    self.mark(token, State::Completed)?;
                    self.leave(token)
                }
                Then::Fail(host) => self.fail(host),
            };
        };
        let scope = undoing.scope;
        match next.by {
            UndoBy::Activity(memory) => self.undo_by_activity(id, memory),
            UndoBy::Handler(memory, kept) => self.undo_by_handler(id, scope, memory, kept),
            UndoBy::Inside(kept) => {
                let inside = std::mem::take(&mut self.scope_mut(kept).undo);
                let queue = &mut self.undoings.get_mut(&id).expect("it is at work").queue;
                for it in inside {
                    queue.push_front(it);
                }
                self.undo_next(id)
            }
        }
    }

    fn undo_by_activity(&mut self, id: u64, memory: TokenId) -> Done {
        self.mark(memory, State::Completed)?;
        let at = self.tokens.remove(&memory).expect("a memory is there until it is used");
        let Kind::Boundary { leads_to: Some(activity), .. } = self.model.nodes[at.node].kind else {
            return self.undo_next(id);
        };
        let role = Role::Undoes(id);
        let token = self.make(activity, at.scope, at.instance, at.label, at.status, role);
        self.undoings.get_mut(&id).expect("it is at work").current =
            Some(UndoneBy::Activity(token));
        self.token_mut(token).number = at.number;
        self.add_own(token);
        self.let_in(token)
    }

    fn undo_by_handler(&mut self, id: u64, scope: ScopeId, memory: TokenId, kept: ScopeId) -> Done {
        let node = self.scopes[&kept].node;
        let handler = self.model.nodes[node].undone_by.expect("it was remembered by it");
        let host = self.responsible(scope);
        let inner = self.make_scope(handler, host, Some(kept), ScopeKind::Undoes(id));
        self.undoings.get_mut(&id).expect("it is at work").current = Some(UndoneBy::Handler(inner));
        self.token_mut(memory).scope = Some(inner);
        self.own_of_handler(memory, handler, inner);
        self.enter_handler(memory, handler)?;
        self.mark(memory, State::Completed)?;
        self.token_mut(memory).role = Role::Flow;
        self.scope_mut(inner).live.insert(memory);
        if !self.handler_holds(memory, handler, RestrictionAt::Entry)? {
            return self.fail(memory);
        }
        self.arm_handlers(inner)?;
        self.leave(memory)
    }

    /// A scope is gone, and with it all that could have been undone in it.
    pub(super) fn drop_scope(&mut self, id: ScopeId) {
        let Some(scope) = self.scopes.remove(&id) else { return };
        for undo in scope.undo {
            match undo.by {
                UndoBy::Activity(memory) => {
                    self.tokens.remove(&memory);
                }
                UndoBy::Handler(memory, kept) => {
                    self.tokens.remove(&memory);
                    self.drop_scope(kept);
                }
                UndoBy::Inside(kept) => self.drop_scope(kept),
            }
        }
    }
}
