//! Item definitions to types, and names of types to what they mean.

use std::collections::{BTreeMap, HashMap, HashSet, hash_map::Entry};

use travertine_lang::feel::{Names, Type};
use travertine_value::Name;
use travertine_xml::Node;

use super::{DEPTH_MAX, ItemType, Shape, TypeId, Types};
use crate::{files::Files, name, report::Sink, source, text::Tests};

/// Which names of types there are in each file.
#[derive(Debug)]
pub(crate) struct TypeNames<'a> {
    files: &'a Files<'a>,
    /// By file and name.
    known: Vec<BTreeMap<String, TypeId>>,
}

impl<'a> TypeNames<'a> {
    /// Reads the item definitions of all files.
    pub(crate) fn read(files: &'a Files<'a>, types: &mut Types, sink: &Sink) -> Self {
        let mut known = Vec::new();
        let mut todo = Vec::new();
        for file in &files.all {
            let mut names = BTreeMap::new();
            for node in file.root.all("itemDefinition") {
                let name = name::tidy(node.attr("name").unwrap_or_default());
                let id = types.add(nothing(&name));
                todo.push((node, id));
                if names.insert(name.clone(), id).is_some() {
                    let message = format!("there are two types of the name '{name}'");
                    sink.error("TV2010", node, message, "give one of them another name");
                }
            }
            known.push(names);
        }
        let names = Self { files, known };
        for (node, id) in todo {
            let of = Reader { names: &names, types, sink }.item(node);
            types.set(id, of);
        }
        names.refuse_circles(types, sink);
        names.refuse_depth(types, sink);
        names
    }

    /// What the attribute `typeRef` of a node means; everything where it says nothing.
    pub(crate) fn attribute(&self, node: Node<'_>, types: &mut Types, sink: &Sink) -> TypeId {
        node.attr("typeRef").map_or(TypeId::ANY, |it| self.find(it, node, types, sink))
    }

    /// What the name of a type means where it is written.
    pub(crate) fn find(
        &self,
        reference: &str,
        node: Node<'_>,
        types: &mut Types,
        sink: &Sink,
    ) -> TypeId {
        let reference = name::tidy(reference);
        if reference.is_empty() {
            return TypeId::ANY;
        }
        let file = self.files.index_of(node);
        self.lookup(file, &reference, node, types).unwrap_or_else(|| {
            sink.error(
                "TV2011",
                node,
                format!("there is no type '{reference}'"),
                "define it as an itemDefinition, or use one of FEEL such as string or number",
            );
            TypeId::ANY
        })
    }

    fn lookup(
        &self,
        file: usize,
        reference: &str,
        node: Node<'_>,
        types: &mut Types,
    ) -> Option<TypeId> {
        if let Some(known) = self.known[file].get(reference) {
            return Some(*known);
        }
        if let Some(of) = plain(reference) {
            return Some(types.plain(reference, of));
        }
        if let Some(found) = self.imported(file, reference) {
            return Some(found);
        }
        // `prefix:name`, as DMN 1.1 writes it.
        let (prefix, local) = reference.split_once(':')?;
        let namespace = node.namespace(prefix)?;
        let own = |it: &usize| self.files.all[*it].namespace == namespace;
        let from = (0..self.files.all.len()).find(own);
        from.and_then(|it| self.known[it].get(local).copied())
            .or_else(|| plain(local).map(|of| types.plain(local, of)))
    }

    /// `import.name`, through any number of imports.
    fn imported(&self, file: usize, reference: &str) -> Option<TypeId> {
        // Imports can lead in circles, and to the same place by several ways.
        let mut seen = HashSet::new();
        let mut open = vec![(file, reference)];
        while let Some((file, reference)) = open.pop() {
            if !seen.insert((file, reference.len())) {
                continue;
            }
            let imports = self.files.all[file].imports.iter().filter(|it| it.file != file);
            let mut next = Vec::new();
            for import in imports {
                let rest = if import.name.is_empty() {
                    reference
                } else {
                    let rest = reference.strip_prefix(import.name.as_str());
                    let Some(rest) = rest.and_then(|it| it.strip_prefix('.')) else { continue };
                    next.push((import.file, rest));
                    rest
                };
                if let Some(known) = self.known[import.file].get(rest) {
                    return Some(*known);
                }
            }
            open.extend(next.into_iter().rev());
        }
        None
    }

    /// Makes the types of a file known to its expressions. The names of entries are none of its
    /// business: those of all types are known everywhere.
    pub(crate) fn declare(&self, file: usize, types: &Types, names: &mut Names) {
        for (name, id) in &self.known[file] {
            names.add_type_alone(name, types.feel(*id));
        }
        for import in &self.files.all[file].imports {
            for (name, id) in &self.known[import.file] {
                let name = import.step().map_or_else(|| name.clone(), |it| format!("{it}.{name}"));
                names.add_type_alone(&name, types.feel(*id));
            }
        }
    }

    /// A type that is nothing but another name for itself, or a list of itself, means nothing.
    fn refuse_circles(&self, types: &mut Types, sink: &Sink) {
        let inner = |types: &Types, at: TypeId| match types.get(at).shape {
            Shape::Same(other) | Shape::List(other) => Some(other),
            Shape::Plain(_) | Shape::Context(_) | Shape::Function { .. } => None,
        };
        let nodes: HashMap<_, _> = self.definitions().map(|(node, _, id)| (id, node)).collect();
        // Which walk has come by a type first: each is gone through once.
        let mut seen: HashMap<TypeId, TypeId> = HashMap::new();
        for (node, _, id) in self.definitions() {
            let mut at = id;
            while let Entry::Vacant(new) = seen.entry(at) {
                new.insert(id);
                let Some(next) = inner(types, at) else { break };
                at = next;
            }
            if inner(types, at).is_none() || seen[&at] != id {
                continue;
            }
            let name = Name::clone(&types.get(at).name);
            let message = format!("the type '{name}' is defined by itself");
            let node = nodes.get(&at).copied().unwrap_or(node);
            sink.error("TV2012", node, message, "say what it consists of");
            types.set(at, nothing(&name));
        }
    }

    fn refuse_depth(&self, types: &mut Types, sink: &Sink) {
        let too_deep: HashSet<_> = types.settle().into_iter().collect();
        if too_deep.is_empty() {
            return;
        }
        let mut is_told = false;
        for (node, name, id) in self.definitions() {
            // What is too deep may be a component without a name of its own.
            if too_deep.contains(&id) || !is_told {
                is_told = true;
                let message = format!("the type '{name}' is nested deeper than {DEPTH_MAX}");
                sink.error("TV2013", node, message, "no value can be nested so deeply");
            }
        }
    }

    /// All item definitions, their names and what they became. Of two that share a name the last
    /// counts.
    fn definitions(&self) -> impl Iterator<Item = (Node<'a>, String, TypeId)> {
        self.files.all.iter().zip(&self.known).flat_map(|(file, known)| {
            file.root.all("itemDefinition").filter_map(|node| {
                let name = name::tidy(node.attr("name").unwrap_or_default());
                let id = *known.get(&name)?;
                Some((node, name, id))
            })
        })
    }
}

fn nothing(name: &str) -> ItemType {
    ItemType { name: name.into(), shape: Shape::Plain(Type::Any), allowed: None }
}

/// The type that a name means without any definition: those of FEEL, and the words that older
/// models use for numbers.
fn plain(name: &str) -> Option<Type> {
    match name {
        "integer" | "int" | "long" | "double" | "float" | "decimal" => Some(Type::Number),
        _ => Type::named(name),
    }
}

struct Reader<'r, 'a> {
    names: &'r TypeNames<'a>,
    types: &'r mut Types,
    sink: &'r Sink,
}

impl Reader<'_, '_> {
    fn item(&mut self, node: Node<'_>) -> ItemType {
        let name: Name = name::tidy(node.attr("name").unwrap_or_default()).into();
        let shape = self.shape(node);
        let allowed = self.tests(node, "allowedValues");
        let constraint = self.tests(node, "typeConstraint");
        let is_collection =
            node.attr("isCollection").is_some_and(|it| matches!(it.trim(), "true" | "1"));
        let inner = ItemType { name: Name::clone(&name), shape, allowed };
        if is_collection {
            let item = self.types.add(inner);
            return ItemType { name, shape: Shape::List(item), allowed: constraint };
        }
        if constraint.is_none() {
            return inner;
        }
        let inner = self.types.add(inner);
        ItemType { name, shape: Shape::Same(inner), allowed: constraint }
    }

    fn shape(&mut self, node: Node<'_>) -> Shape {
        if node.child("itemComponent").is_some() {
            let entry = |it: Node<'_>| {
                let of = self.item(it);
                (Name::clone(&of.name), self.types.add(of))
            };
            return Shape::Context(node.all("itemComponent").map(entry).collect());
        }
        if let Some(function) = node.child("functionItem") {
            let result = function.attr("outputTypeRef").unwrap_or_default();
            let result = self.names.find(result, function, self.types, self.sink);
            let parameters = function.all("parameters");
            let parameters =
                parameters.map(|it| self.names.attribute(it, self.types, self.sink)).collect();
            return Shape::Function { parameters, result };
        }
        match node.child("typeRef") {
            Some(of) => Shape::Same(self.names.find(of.text(), of, self.types, self.sink)),
            None => Shape::Plain(Type::Any),
        }
    }

    fn tests(&self, node: Node<'_>, name: &str) -> Option<Tests> {
        let text = node.child(name)?.child("text")?;
        source::tests(text, &Names::new(), self.sink)
    }
}
