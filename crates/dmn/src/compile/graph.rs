//! Requirements that lead back to where they began.

use travertine_xml::Node;

use super::{Compiler, called, title};
use crate::model::ElementId;

/// Reports each circle of requirements once.
pub(super) fn check(compiler: &Compiler<'_>) {
    let edges: Vec<Vec<ElementId>> = compiler
        .nodes
        .iter()
        .map(|node| {
            // A service is called with its inputs, so that its requirements end there.
            if node.is("decisionService") {
                return Vec::new();
            }
            required(compiler, *node)
        })
        .collect();
    let mut walk = Walk {
        edges: &edges,
        state: vec![State::New; edges.len()],
        way: Vec::new(),
        circles: Vec::new(),
    };
    for element in 0..edges.len() {
        walk.visit(element);
    }
    for circle in walk.circles {
        let names = circle.iter().chain(circle.first()).map(|it| title(compiler.nodes[*it]));
        let names = names.collect::<Vec<_>>().join("' → '");
        let node = compiler.nodes[circle[0]];
        let message = format!("{} requires itself: '{names}'", called(node));
        compiler.sink.error("TV2020", node, message, "remove one of the requirements");
    }
}

/// References that lead nowhere are reported by others.
fn required(compiler: &Compiler<'_>, node: Node<'_>) -> Vec<ElementId> {
    let file = compiler.files.index_of(node);
    let requirements = node.all("informationRequirement").chain(node.all("knowledgeRequirement"));
    let hrefs = requirements.flat_map(Node::children).filter_map(|it| it.attr("href"));
    let targets = hrefs.filter_map(|it| compiler.files.resolve(file, it));
    targets.filter_map(|it| compiler.ids.get(&it.node.key()).copied()).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    OnTheWay,
    Done,
}

struct Walk<'w> {
    edges: &'w [Vec<ElementId>],
    state: Vec<State>,
    way: Vec<ElementId>,
    circles: Vec<Vec<ElementId>>,
}

impl Walk<'_> {
    /// Depth first, without recursion: a chain of requirements may be long.
    fn visit(&mut self, from: ElementId) {
        let mut todo = vec![(from, 0)];
        while let Some((element, next)) = todo.pop() {
            if next == 0 {
                if self.state[element] != State::New {
                    continue;
                }
                self.state[element] = State::OnTheWay;
                self.way.push(element);
            }
            let Some(&to) = self.edges[element].get(next) else {
                self.state[element] = State::Done;
                self.way.pop();
                continue;
            };
            todo.push((element, next + 1));
            match self.state[to] {
                State::New => todo.push((to, 0)),
                State::OnTheWay => {
                    let begin = self.way.iter().position(|it| *it == to).unwrap_or(0);
                    self.circles.push(self.way[begin..].to_vec());
                }
                State::Done => {}
            }
        }
    }
}
