//! What fails, who handles it, and what is taken away.

use std::sync::Arc;

use super::{
    Done, Outcome, Simulation,
    state::{Role, ScopeId, ScopeKind, State, Status, Then, TokenId, UndoneBy},
};
use crate::model::Trigger;

impl Simulation {
    /// The token has failed: its boundary, then the event sub-processes of its scope, then one level up.
    pub(super) fn fail(&mut self, token: TokenId) -> Done {
        self.failures += 1;
        self.mark(token, State::Failed)?;
        let at = self.token(token).clone();
        let Some(scope) = at.scope else {
            self.end_instance(token, Outcome::Failed);
            return Ok(());
        };
        self.release(token);
        self.withdraw_message_of(token);
        let main = match at.role {
            Role::Copy(main) => main,
            _ => token,
        };
        let guard = self.guarded_for(main, |it| matches!(it, Trigger::Error));
        if let Some(guard) = guard {
            self.token_mut(main).guards.retain(|it| *it != guard);
            self.scope_mut(scope).live.insert(guard);
            self.token_mut(guard).role = Role::Flow;
            self.hand_status(guard, &at.status);
        }
        if let Some(inner) = self.token_mut(token).inner.take() {
            self.drop_scope(inner);
        }
        if main == token {
            self.withdraw_guards(token)?;
        } else if let Some(copies) = &mut self.token_mut(main).copies {
            copies.open.remove(&token);
        }
        self.drop_token(token);
        if main != token {
            self.withdraw(main)?;
        }
        match guard {
            Some(guard) => {
                self.mark(guard, State::Completed)?;
                self.leave(guard)
            }
            None => self.fail_in(scope, &at.status),
        }
    }

    /// Something in a scope has failed.
    fn fail_in(&mut self, scope: ScopeId, status: &Arc<Status>) -> Done {
        if let Some(start) = self.armed_for(scope, |it| matches!(it, Trigger::Error)) {
            self.hand_status(start, status);
            return self.fire(start);
        }
        let host = self.responsible(scope);
        self.hand_status(host, status);
        self.fail_host(host)
    }

    /// The token that answers for what happens in a scope: that of the process or sub-process.
    pub(super) fn responsible(&self, scope: ScopeId) -> TokenId {
        let mut id = scope;
        loop {
            let it = &self.scopes[&id];
            let hosts = self.tokens.get(&it.host).is_some_and(|host| host.inner == Some(id));
            if it.kind == ScopeKind::Plain && hosts {
                return it.host;
            }
            id = it.parent.expect("the scope of a process has its token");
        }
    }

    /// A process or a sub-process fails: what it has completed is undone, then it has failed.
    pub(super) fn fail_host(&mut self, host: TokenId) -> Done {
        let inner = self.token(host).inner.expect("what fails inside has an inside");
        if self.scopes[&inner].failing {
            self.clear(inner, None)?;
            return self.fail(host);
        }
        self.scope_mut(inner).failing = true;
        self.failures += 1;
        self.mark(host, State::Failing)?;
        self.clear(inner, None)?;
        let queue = std::mem::take(&mut self.scope_mut(inner).undo);
        self.undo(inner, queue, Then::Fail(host))
    }

    /// Takes away what is in a scope: armed handlers, running ones, then its tokens, but for one.
    pub(super) fn clear(&mut self, scope: ScopeId, except: Option<TokenId>) -> Done {
        self.scope_mut(scope).beginning = false;
        for token in std::mem::take(&mut self.scope_mut(scope).armed) {
            self.withdraw(token)?;
        }
        for handler in std::mem::take(&mut self.scope_mut(scope).handlers) {
            self.clear(handler, None)?;
            self.drop_scope(handler);
        }
        let live: Vec<TokenId> = self.scopes[&scope].live.iter().copied().collect();
        for token in live.into_iter().filter(|it| Some(*it) != except) {
            if self.tokens.contains_key(&token) {
                self.withdraw(token)?;
            }
        }
        let at_work: Vec<u64> =
            self.undoings.iter().filter(|(_, it)| it.scope == scope).map(|(id, _)| *id).collect();
        for id in at_work {
            let Some(undoing) = self.undoings.remove(&id) else { continue };
            match undoing.current {
                Some(UndoneBy::Activity(token)) if self.tokens.contains_key(&token) => {
                    self.withdraw(token)?;
                }
                Some(UndoneBy::Handler(inner)) if self.scopes.contains_key(&inner) => {
                    self.clear(inner, None)?;
                    self.drop_scope(inner);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes a token away, and with it what is its own.
    pub(super) fn withdraw(&mut self, token: TokenId) -> Done {
        self.withdraw_guards(token)?;
        let copies = self.token_mut(token).copies.take();
        for copy in copies.into_iter().flat_map(|it| it.open) {
            self.withdraw(copy)?;
        }
        if let Some(inner) = self.token(token).inner {
            self.clear(inner, None)?;
            self.drop_scope(inner);
        }
        self.release(token);
        self.withdraw_message_of(token);
        self.mark(token, State::Withdrawn)?;
        let at = self.token(token);
        let scope = at.scope.filter(|_| at.role == Role::Armed);
        self.drop_token(token);
        if let Some(scope) = scope {
            self.drop_scope(scope);
        }
        Ok(())
    }

    /// Takes away the tokens at the boundary events of an activity, or behind a gateway.
    pub(super) fn withdraw_guards(&mut self, token: TokenId) -> Done {
        for guard in std::mem::take(&mut self.token_mut(token).guards) {
            self.withdraw(guard)?;
        }
        Ok(())
    }

    /// A token is gone, without a word.
    pub(super) fn drop_token(&mut self, token: TokenId) {
        if let Some(gone) = self.tokens.remove(&token)
            && let Some(scope) = gone.scope.and_then(|it| self.scopes.get_mut(&it))
        {
            scope.live.remove(&token);
        }
    }
}
