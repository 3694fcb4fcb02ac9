//! What every way from one place to another must pass (Cooper, Harvey and Kennedy, "A Simple, Fast
//! Dominance Algorithm").

const NONE: usize = usize::MAX;

/// For each node the last one before it that every way from the root passes.
#[derive(Debug)]
pub(super) struct Dominators {
    parent: Vec<usize>,
    /// How late a depth-first walk leaves a node; the root last of all.
    left: Vec<usize>,
}

impl Dominators {
    pub(super) fn new(next: &[Vec<usize>], back: &[Vec<usize>], root: usize) -> Self {
        let order = postorder(next, root);
        let mut left = vec![NONE; next.len()];
        for (position, node) in order.iter().enumerate() {
            left[*node] = position;
        }
        let mut parent = vec![NONE; next.len()];
        parent[root] = root;
        let mut it = Self { parent, left };
        let mut changed = true;
        while changed {
            changed = false;
            for &node in order.iter().rev().skip(1) {
                let known = back[node].iter().copied().filter(|from| it.parent[*from] != NONE);
                let found = known.reduce(|a, b| it.meet(a, b)).unwrap_or(NONE);
                changed |= std::mem::replace(&mut it.parent[node], found) != found;
            }
        }
        it
    }

    /// The last node that every way to both passes; `None` where one of them is out of reach.
    pub(super) fn common(&self, a: usize, b: usize) -> Option<usize> {
        (self.parent[a] != NONE && self.parent[b] != NONE).then(|| self.meet(a, b))
    }

    /// The nodes that every way to a node passes, the nearest first, without the root.
    pub(super) fn above(&self, node: usize) -> impl Iterator<Item = usize> {
        let up = |it: &usize| {
            let parent = self.parent[*it];
            (parent != NONE && self.parent[parent] != parent).then_some(parent)
        };
        std::iter::successors(Some(node), up).skip(1)
    }

    fn meet(&self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            while self.left[a] < self.left[b] {
                a = self.parent[a];
            }
            while self.left[b] < self.left[a] {
                b = self.parent[b];
            }
        }
        a
    }
}

/// The nodes in the order in which a depth-first walk leaves them.
fn postorder(next: &[Vec<usize>], root: usize) -> Vec<usize> {
    let mut order = Vec::new();
    let mut seen = vec![false; next.len()];
    seen[root] = true;
    let mut walk = vec![(root, 0)];
    while let Some((node, way)) = walk.last_mut() {
        if let Some(&to) = next[*node].get(*way) {
            *way += 1;
            if !std::mem::replace(&mut seen[to], true) {
                walk.push((to, 0));
            }
        } else {
            order.push(*node);
            walk.pop();
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::{super::scope::reversed, *};

    #[test]
    fn branches_meet_where_they_began() {
        // 0 → 1 → {2, 3} → 4, and 3 → 1.
        let next = vec![vec![1], vec![2, 3], vec![4], vec![4, 1], vec![], vec![4]];
        let it = Dominators::new(&next, &reversed(&next), 0);
        assert_eq!(it.common(2, 3), Some(1));
        assert_eq!(it.above(4).collect::<Vec<_>>(), [1]);
        assert_eq!(it.common(4, 5), None, "5 is out of reach");
    }
}
