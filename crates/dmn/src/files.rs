//! Files that are read together, and how they find things in each other.

use std::collections::{HashSet, VecDeque};

use travertine_xml::{Document, Node};

use crate::{name, report::Sink};

/// Files that are read together.
#[derive(Debug)]
pub(crate) struct Files<'a> {
    pub(crate) all: Vec<File<'a>>,
}

#[derive(Debug)]
pub(crate) struct File<'a> {
    pub(crate) root: Node<'a>,
    pub(crate) namespace: &'a str,
    pub(crate) imports: Vec<Import>,
}

/// An import of one file into another.
#[derive(Clone, Debug)]
pub(crate) struct Import {
    /// What stands before the dot of names from there.
    pub(crate) name: String,
    /// Where it stands among the files.
    pub(crate) file: usize,
}

impl Import {
    /// The name, where there is one: without, the names from there are used as they are.
    pub(crate) fn step(&self) -> Option<String> {
        Some(self.name.clone()).filter(|it| !it.is_empty())
    }
}

/// Where a reference leads.
#[derive(Clone, Debug)]
pub(crate) struct Target<'a> {
    /// The names of the imports on the way.
    pub(crate) path: Vec<String>,
    pub(crate) node: Node<'a>,
}

impl<'a> Files<'a> {
    pub(crate) fn new(documents: &'a [Document], sink: &Sink) -> Self {
        let roots: Vec<_> =
            documents.iter().map(Document::root).filter(|it| is_dmn(*it, sink)).collect();
        let namespaces: Vec<_> =
            roots.iter().map(|it| it.attr("namespace").unwrap_or_default()).collect();
        let imports = |index: usize, root: Node<'a>| {
            let imports = root.all("import").filter(|it| is_of_dmn(*it));
            imports.filter_map(|it| import(index, it, &namespaces, sink)).collect()
        };
        let all = roots.iter().enumerate();
        Self {
            all: all
                .map(|(index, root)| File {
                    root: *root,
                    namespace: namespaces[index],
                    imports: imports(index, *root),
                })
                .collect(),
        }
    }

    /// What a reference such as `#id` or `namespace#id`, written in a file, means.
    pub(crate) fn resolve(&self, file: usize, href: &str) -> Option<Target<'a>> {
        let href = href.trim();
        let (namespace, id) = href.rsplit_once('#').unwrap_or(("", href));
        if namespace.is_empty() || namespace == self.all[file].namespace {
            let node = self.all[file].root.document().by_id(id)?;
            return Some(Target { path: Vec::new(), node });
        }
        self.through_imports(file, namespace, id)
    }

    /// Nearest imports first. Each file is looked at once: imports may lead in circles, and to a file
    /// by many ways.
    fn through_imports(&self, file: usize, namespace: &str, id: &str) -> Option<Target<'a>> {
        let mut seen = HashSet::from([file]);
        let mut open = VecDeque::from([(file, Vec::new())]);
        while let Some((file, path)) = open.pop_front() {
            let imports = || {
                let step = |it: &Import| path.iter().cloned().chain(it.step()).collect::<Vec<_>>();
                self.all[file].imports.iter().map(move |it| (it.file, step(it)))
            };
            for (file, path) in imports().filter(|(it, _)| self.all[*it].namespace == namespace) {
                if let Some(node) = self.all[file].root.document().by_id(id) {
                    return Some(Target { path, node });
                }
            }
            open.extend(imports().filter(|(it, _)| seen.insert(*it)));
        }
        None
    }

    /// Which of the files a node stands in.
    pub(crate) fn index_of(&self, node: Node<'_>) -> usize {
        let found =
            self.all.iter().position(|it| std::ptr::eq(it.root.document(), node.document()));
        found.expect("every node comes from one of the files")
    }
}

fn is_dmn(root: Node<'_>, sink: &Sink) -> bool {
    if root.is("definitions") {
        return true;
    }
    sink.error(
        "TV2001",
        root,
        format!("this is no DMN model: its outermost element is {}", root.title()),
        "a DMN model is a definitions element in one of the namespaces of DMN 1.1 to 1.5",
    );
    false
}

/// Imports of other kinds, such as PMML, say nothing that we could use.
pub(crate) fn is_of_dmn(import: Node<'_>) -> bool {
    import.attr("importType").is_none_or(|it| it.contains("/DMN/"))
}

fn import(file: usize, node: Node<'_>, namespaces: &[&str], sink: &Sink) -> Option<Import> {
    let namespace = node.attr("namespace").unwrap_or_default();
    let found = namespaces.iter().enumerate().position(|(at, it)| at != file && *it == namespace);
    if found.is_none() {
        sink.error(
            "TV2002",
            node,
            format!("nothing is known of the imported namespace '{namespace}'"),
            "give the file with that namespace too",
        );
    }
    let name = name::tidy(node.attr("name").unwrap_or_default());
    Some(Import { name, file: found? })
}
