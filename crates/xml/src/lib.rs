//! An XML document as a tree that knows where everything stands.
//!
//! Elements lie in one list, in document order; a [`Node`] is a handle to one of them. Namespaces
//! are resolved while reading, so nobody after that sees a prefix, except in `QNames`. What the
//! elements mean is left to the readers of BPMN and DMN.

#![forbid(unsafe_code)]

mod diagnostic;
mod name;
mod read;

use std::{cell::Cell, collections::HashMap};

pub use diagnostic::{Diagnostic, Severity};
pub use name::{Ns, local_part, one_line};
pub use read::{FILE_BYTES_MAX, Fault, read};

/// A place in a file; both count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The character in the line.
    pub column: u32,
}

/// A file that was read.
#[derive(Debug)]
pub struct Document {
    /// What people call the file.
    pub file: String,
    /// The namespace that the elements of this file are expected to be in.
    language: Ns,
    elements: Vec<Data>,
    /// The first element with each id.
    ids: HashMap<String, usize>,
}

#[derive(Debug)]
struct Data {
    ns: Ns,
    name: String,
    attributes: Vec<Attribute>,
    /// The namespace declarations it carries: prefix and URI.
    declared: Vec<(String, String)>,
    parent: Option<usize>,
    children: Vec<usize>,
    text: String,
    place: Place,
    text_place: Place,
    seen: Cell<bool>,
}

/// An attribute of an element.
#[derive(Debug)]
pub struct Attribute {
    /// The namespace of its name.
    pub ns: Ns,
    /// Its local name.
    pub name: String,
    /// Its value, unescaped.
    pub value: String,
    /// Where its name begins.
    pub place: Place,
    /// Where its value begins.
    pub value_place: Place,
    seen: Cell<bool>,
}

impl Attribute {
    /// Whether lowering has looked at it.
    pub fn is_seen(&self) -> bool {
        self.seen.get()
    }
}

/// A handle to an element.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    document: &'a Document,
    position: usize,
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Node<'_> {}

impl Document {
    /// The outermost element.
    pub fn root(&self) -> Node<'_> {
        Node { document: self, position: 0 }
    }

    /// Takes elements of one name for elements of another that have one child more.
    pub fn recast(&mut self, name: &str, other: &str, child: &str) {
        for position in 0..self.elements.len() {
            let data = &mut self.elements[position];
            if data.ns != self.language || data.name != name {
                continue;
            }
            other.clone_into(&mut data.name);
            let (place, text_place) = (data.place, data.text_place);
            let added = Data {
                ns: self.language.clone(),
                name: child.to_owned(),
                attributes: Vec::new(),
                declared: Vec::new(),
                parent: Some(position),
                children: Vec::new(),
                text: String::new(),
                place,
                text_place,
                seen: Cell::new(false),
            };
            self.elements.push(added);
            let added = self.elements.len() - 1;
            self.elements[position].children.push(added);
        }
    }

    /// Every element, in document order.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        (0..self.elements.len()).map(|position| Node { document: self, position })
    }

    /// The first element of the document's language with that id.
    pub fn by_id(&self, id: &str) -> Option<Node<'_>> {
        self.ids.get(id).map(|&position| Node { document: self, position })
    }
}

impl<'a> Node<'a> {
    fn data(self) -> &'a Data {
        &self.document.elements[self.position]
    }

    /// What tells it from every other element of all files.
    pub fn key(self) -> (usize, usize) {
        (std::ptr::from_ref(self.document).addr(), self.position)
    }

    /// Where it stands among the elements of its file.
    pub fn position(self) -> usize {
        self.position
    }

    /// The file it stands in.
    pub fn document(self) -> &'a Document {
        self.document
    }

    /// The namespace of its name.
    pub fn ns(self) -> &'a Ns {
        &self.data().ns
    }

    /// Its local name.
    pub fn name(self) -> &'a str {
        &self.data().name
    }

    /// Whether it is the element of that name in the document's language.
    pub fn is(self, name: &str) -> bool {
        self.data().ns == self.document.language && self.data().name == name
    }

    /// Whether it is one of these elements of the document's language.
    pub fn is_any(self, names: &[&str]) -> bool {
        self.data().ns == self.document.language && names.contains(&self.name())
    }

    /// Where it begins.
    pub fn place(self) -> Place {
        self.data().place
    }

    /// Its attributes, without namespace declarations.
    pub fn attributes(self) -> &'a [Attribute] {
        &self.data().attributes
    }

    /// The value of its own attribute of that name.
    pub fn attr(self, name: &str) -> Option<&'a str> {
        self.attribute(&Ns::None, name).map(|it| it.value.as_str())
    }

    /// The attribute of that name; asking for it counts as honouring it.
    pub fn attribute(self, ns: &Ns, name: &str) -> Option<&'a Attribute> {
        let found = self.data().attributes.iter().find(|it| it.ns == *ns && it.name == name)?;
        found.seen.set(true);
        Some(found)
    }

    /// The value of an attribute in another namespace; asking for it counts as honouring it.
    pub fn ext(self, ns: &Ns, name: &str) -> Option<&'a str> {
        self.attribute(ns, name).map(|it| it.value.as_str())
    }

    /// The value of its attribute `id`.
    pub fn id(self) -> Option<&'a str> {
        self.attr("id")
    }

    /// How messages call it: its kind and its id, where it has one.
    pub fn title(self) -> String {
        match self.id() {
            Some(id) => format!("{} '{id}'", self.name()),
            None => self.name().to_owned(),
        }
    }

    /// The element around it.
    pub fn parent(self) -> Option<Self> {
        self.data().parent.map(|position| Node { document: self.document, position })
    }

    /// The elements around it, nearest first.
    pub fn ancestors(self) -> impl Iterator<Item = Self> {
        std::iter::successors(self.parent(), |it| it.parent())
    }

    /// The elements directly in it.
    pub fn children(self) -> impl DoubleEndedIterator<Item = Self> {
        let document = self.document;
        self.data().children.iter().map(move |&position| Node { document, position })
    }

    /// Its children of that name in the document's language.
    pub fn all(self, name: &str) -> impl Iterator<Item = Self> {
        self.children().filter(move |it| it.is(name))
    }

    /// Its first child of that name in the document's language.
    pub fn child(self, name: &str) -> Option<Self> {
        self.children().find(|it| it.is(name))
    }

    /// It and everything in it, in document order.
    pub fn descendants(self) -> impl Iterator<Item = Self> {
        let mut todo = vec![self];
        std::iter::from_fn(move || {
            let next = todo.pop()?;
            todo.extend(next.children().rev());
            Some(next)
        })
    }

    /// The text directly in it.
    pub fn text(self) -> &'a str {
        &self.data().text
    }

    /// Where that text begins.
    pub fn text_place(self) -> Place {
        self.data().text_place
    }

    /// Notes that lowering has honoured it. Only extension elements need that.
    #[must_use]
    pub fn mark(self) -> Self {
        self.data().seen.set(true);
        self
    }

    /// Whether lowering has honoured it.
    pub fn is_seen(self) -> bool {
        self.data().seen.get()
    }

    /// The namespace a prefix stands for here; the empty prefix is the default namespace.
    pub fn namespace(self, prefix: &str) -> Option<&'a str> {
        std::iter::once(self).chain(self.ancestors()).find_map(|it| {
            it.data().declared.iter().find(|(name, _)| name == prefix).map(|(_, uri)| uri.as_str())
        })
    }

    /// The prefix, with its colon, that the file has for a namespace here.
    pub fn prefix_of(self, ns: &Ns) -> String {
        let Ns::Other(uri) = ns else { return ns.prefix().to_owned() };
        let prefix = std::iter::once(self).chain(self.ancestors()).find_map(|it| {
            let declared = it.data().declared.iter().find(|(_, declared)| declared == uri);
            declared.map(|(prefix, _)| prefix)
        });
        match prefix {
            Some(prefix) if prefix.is_empty() => String::new(),
            Some(prefix) => format!("{prefix}:"),
            None => ns.prefix().to_owned(),
        }
    }

    /// The namespace declarations it carries: prefix and URI.
    pub fn declared(self) -> &'a [(String, String)] {
        &self.data().declared
    }

    /// Its extension elements of that namespace and name; asking for them counts as honouring
    /// them.
    pub fn extensions(self, ns: &'a Ns, name: &'a str) -> impl Iterator<Item = Self> {
        self.all("extensionElements")
            .flat_map(Self::children)
            .filter(move |it| it.ns() == ns && it.name() == name)
            .map(Self::mark)
    }

    /// The children of an extension element that have that name and its namespace.
    pub fn parts(self, name: &'a str) -> impl Iterator<Item = Self> {
        self.children().filter(move |it| it.ns() == self.ns() && it.name() == name).map(Self::mark)
    }
}
