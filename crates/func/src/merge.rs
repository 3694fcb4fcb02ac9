//! How the results of branches become one. Always by the order of the branches, never by that of
//! their ends.
//!
//! ```
//! # use travertine_func as travertine;
//! use travertine::merge::{Agree, Merge};
//!
//! assert_eq!(Agree.merge(vec![1, 1]), Ok(Some(1)));
//! ```

use crate::error::Failure;

/// A rule that makes one result of those of all branches.
///
/// ```
/// # use travertine_func as travertine;
/// use travertine::{Failure, merge::Merge};
///
/// /// The highest result; none where there are no branches.
/// struct Highest;
///
/// impl Merge<u64> for Highest {
///     type Output = Option<u64>;
///
///     fn merge(self, results: Vec<u64>) -> Result<Self::Output, Failure> {
///         Ok(results.into_iter().max())
///     }
/// }
/// assert_eq!(Highest.merge(vec![1, 3, 2]), Ok(Some(3)));
/// ```
pub trait Merge<T> {
    /// What comes out.
    type Output;

    /// Merges the results of the branches, which stand in the order of the branches.
    ///
    /// ```
    /// # use travertine_func::merge::{Append, Merge};
    /// assert_eq!(Append.merge(vec!["ab".chars(), "c".chars()]), Ok(vec!['a', 'b', 'c']));
    /// ```
    fn merge(self, results: Vec<T>) -> Result<Self::Output, Failure>;
}

/// All results, one for each branch.
///
/// ```
/// # use travertine_func::merge::{All, Merge};
/// assert_eq!(All.merge(vec![1, 2]).unwrap(), [1, 2]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct All;

/// The result of the last branch; none where there are no branches.
///
/// ```
/// # use travertine_func::merge::{Last, Merge};
/// assert_eq!(Last.merge(vec![1, 2]).unwrap(), Some(2));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Last;

/// What all branches agree on; none where they do not, or where there are no branches.
///
/// ```
/// # use travertine_func::merge::{Agree, Merge};
/// assert_eq!(Agree.merge(vec![1, 1]).unwrap(), Some(1));
/// assert_eq!(Agree.merge(vec![1, 2]).unwrap(), None);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Agree;

/// What all branches agree on; a failure with the code `conflict` where they do not.
///
/// ```
/// # use travertine_func::merge::{Merge, Same};
/// assert_eq!(Same.merge(vec![1, 1]).unwrap(), Some(1));
/// assert_eq!(Same.merge(vec![1, 2]).unwrap_err().code, "conflict");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Same;

/// The items of all results, one after the other.
///
/// ```
/// # use travertine_func::merge::{Append, Merge};
/// assert_eq!(Append.merge(vec![vec![1], vec![2, 3]]).unwrap(), [1, 2, 3]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Append;

/// What this function makes of all results.
///
/// ```
/// # use travertine_func::merge::{Merge, With};
/// let sum = With(|all: Vec<i32>| all.iter().sum::<i32>());
/// assert_eq!(sum.merge(vec![1, 2]).unwrap(), 3);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct With<F>(pub F);

impl<T> Merge<T> for All {
    type Output = Vec<T>;

    fn merge(self, results: Vec<T>) -> Result<Self::Output, Failure> {
        Ok(results)
    }
}

impl<T> Merge<T> for Last {
    type Output = Option<T>;

    fn merge(self, mut results: Vec<T>) -> Result<Self::Output, Failure> {
        Ok(results.pop())
    }
}

impl<T: PartialEq> Merge<T> for Agree {
    type Output = Option<T>;

    fn merge(self, results: Vec<T>) -> Result<Self::Output, Failure> {
        let agree = results.windows(2).all(|it| it[0] == it[1]);
        Ok(results.into_iter().next().filter(|_| agree))
    }
}

impl<T: PartialEq> Merge<T> for Same {
    type Output = Option<T>;

    fn merge(self, results: Vec<T>) -> Result<Self::Output, Failure> {
        if let Some(at) = results.windows(2).position(|it| it[0] != it[1]) {
            let text = format!("branches {at} and {} have different results", at + 1);
            return Err(Failure::terminal("conflict", text));
        }
        Ok(results.into_iter().next())
    }
}

impl<I: IntoIterator> Merge<I> for Append {
    type Output = Vec<I::Item>;

    fn merge(self, results: Vec<I>) -> Result<Self::Output, Failure> {
        Ok(results.into_iter().flatten().collect())
    }
}

impl<T, O, F: FnOnce(Vec<T>) -> O> Merge<T> for With<F> {
    type Output = O;

    fn merge(self, results: Vec<T>) -> Result<Self::Output, Failure> {
        Ok((self.0)(results))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_merges_in_the_order_of_the_branches() {
        assert_eq!(All.merge(vec![3, 1, 2]), Ok(vec![3, 1, 2]));
        assert_eq!(Last.merge(vec![3, 1, 2]), Ok(Some(2)));
        assert_eq!(Agree.merge(vec![3, 1]), Ok(None));
        assert_eq!(Agree.merge(vec![3, 3]), Ok(Some(3)));
        assert_eq!(Append.merge(vec![vec![3], vec![], vec![1, 2]]), Ok(vec![3, 1, 2]));
        assert_eq!(With(|all: Vec<i32>| all.len()).merge(vec![3, 1]), Ok(2));
        assert_eq!(
            Same.merge(vec![3, 3, 1]).unwrap_err().message,
            "branches 1 and 2 have different results"
        );
    }
}
