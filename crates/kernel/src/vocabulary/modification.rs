//! What operators change about where the tokens of an instance are.

use super::{Assignments, TokenId};
use crate::plan::{FlowId, NodeId};

/// One step of an operator's intervention.
///
/// No scope ends between two steps. When all are done, a scope that has lost its last token is
/// withdrawn with its host, and so on outwards; the process itself is then cancelled. What runs
/// several times is different: a run that is taken away counts as ended without a result.
///
/// ```
/// # use travertine_kernel::{Destination, Modification, NodeId, TokenId, Which};
/// // The numbers of elements are those that the definition gives their ids.
/// let (pack, pay) = (NodeId(3), NodeId(2));
/// let steps = vec![
///     Modification::Withdraw(Which::Token(TokenId(5))),
///     Modification::Move { which: Which::At(pack), to: Destination::before(pay) },
///     Modification::Add { to: Destination::before(pack), scope: None },
/// ];
/// assert_eq!(steps.len(), 3);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Modification {
    /// Takes tokens away, with all that is inside them and beside them.
    Withdraw(Which),
    /// Puts a token before an element. Containers around it that are not open are entered, as if
    /// a token had come there, but begin at the element.
    Add {
        /// Where.
        to: Destination,
        /// The scope it is in or below; need not be named where only one is open.
        scope: Option<TokenId>,
    },
    /// Puts a token before an element, in or below the scope whose host is on that visit still; 0 is the process.
    AddWithin {
        /// Where.
        to: Destination,
        /// The visit.
        visit: u64,
    },
    /// Takes tokens away and puts as many before an element, each in the scope it was in where the
    /// element lies there, with the variables and the status it had.
    Move {
        /// Which tokens.
        which: Which,
        /// Where.
        to: Destination,
    },
}

/// The tokens that are meant.
///
/// ```
/// # use travertine_kernel::{NodeId, TokenId, Which};
/// let one = Which::Token(TokenId(5));
/// let all_there = Which::At(NodeId(3));
/// assert_ne!(one, all_there);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// This one.
    Token(TokenId),
    /// All at this element.
    At(NodeId),
    /// That which is on this visit still.
    Visit(u64),
}

/// A place for a new token.
///
/// ```
/// # use travertine_kernel::{Destination, NodeId};
/// let inside = NodeId(4);
/// let container = NodeId(3);
/// let to = Destination {
///     variables: vec![(container, vec![("item".into(), "lamp".into())])],
///     ..Destination::before(inside)
/// };
/// assert_eq!(to.at, inside);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Destination {
    /// The element that it stands before.
    pub at: NodeId,
    /// The flow by which it comes, which joins want to know: the first that misses a token where
    /// none is named.
    pub via: Option<FlowId>,
    /// Variables for containers around the element, by container.
    pub variables: Vec<(NodeId, Assignments)>,
}

impl Destination {
    /// Before an element, and nothing else.
    ///
    /// ```
    /// # use travertine_kernel::{Destination, NodeId};
    /// let to = Destination::before(NodeId(3));
    /// assert_eq!((to.at, to.via), (NodeId(3), None));
    /// ```
    pub fn before(at: NodeId) -> Self {
        Self { at, via: None, variables: Vec::new() }
    }
}
