//! Restrictions: what must hold when an activity begins and when it ends.

use crate::{
    plan::RestrictionScope,
    run::Run,
    vocabulary::{Failure, FailureKind, Part, TokenId},
};

impl Run<'_> {
    /// Fails where a restriction of the token's node, or of one around it, is violated.
    pub(crate) fn check_restrictions(
        &self,
        token: TokenId,
        at: RestrictionScope,
    ) -> Result<(), Failure> {
        if !self.plan.restricted {
            return Ok(());
        }
        let own = self.instance.token(token).node;
        let mut next = Some(own);
        while let Some(id) = next {
            let node = self.plan.node(id);
            let restrictions = node.extras.iter().flat_map(|it| &it.restrictions);
            for restriction in restrictions {
                let applies = match restriction.scope {
                    RestrictionScope::Full => true,
                    scope if id != own => scope == RestrictionScope::Full,
                    RestrictionScope::Entry => at == RestrictionScope::Entry,
                    RestrictionScope::Exit => at == RestrictionScope::Exit,
                    RestrictionScope::Completion => at != RestrictionScope::Entry,
                };
                if !applies {
                    continue;
                }
                let placed = |failure: Failure| failure.at(Part::Restriction, &node.name);
                if !self.holds(token, &restriction.condition).map_err(placed)? {
                    let message = format!("restriction {} is violated", restriction.name);
                    return Err(placed(Failure::new(FailureKind::Restriction, message)));
                }
            }
            // What undoes and what handles errors must be possible where the work was not.
            next = if self.plan.stands_alone(id) { None } else { node.parent };
        }
        Ok(())
    }
}
