//! The compiled form of all files together: types, and elements that require each other.

use std::{collections::HashMap, sync::Arc};

use travertine_lang::feel::{Expression, Names};
use travertine_value::Name;

use crate::{
    logic::Boxed,
    types::{TypeId, Types},
};

/// An element of [`Model::elements`].
pub(crate) type ElementId = usize;

/// Everything that evaluation needs.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) types: Types,
    pub(crate) elements: Vec<Element>,
    /// Where the elements of the first file end: those that can be asked for by their plain names.
    pub(crate) own: usize,
    /// Those by their ids and by their names.
    pub(crate) by_id: HashMap<String, ElementId>,
    pub(crate) by_name: HashMap<Name, ElementId>,
    pub(crate) helpers: Helpers,
}

/// What FEEL can do better than we: expressions over `values`.
#[derive(Debug)]
pub(crate) struct Helpers {
    pub(crate) sum: Expression,
    pub(crate) min: Expression,
    pub(crate) max: Expression,
    /// What a range goes through.
    pub(crate) items: Expression,
}

impl Default for Helpers {
    fn default() -> Self {
        let mut names = Names::new();
        names.add("values");
        let parse = |text| Expression::parse(text, &names).expect("it is FEEL");
        Self {
            sum: parse("sum(values)"),
            min: parse("min(values)"),
            max: parse("max(values)"),
            items: parse("for it in values return it"),
        }
    }
}

/// An element of a requirements graph.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) id: Option<String>,
    pub(crate) name: Name,
    pub(crate) kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    /// A value that comes from outside.
    Input(TypeId),
    Decision(Decision),
    /// A business knowledge model: a function.
    Knowledge(Knowledge),
    Service(Service),
}

#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) of: TypeId,
    pub(crate) requires: Vec<Requirement>,
    /// Names it reads that nothing in the model declares. They are taken from the inputs, as authors
    /// of lone decision tables expect.
    pub(crate) undeclared: Vec<Undeclared>,
    /// `None` where its value can only come from outside.
    pub(crate) logic: Option<Boxed>,
}

/// A name that nothing in the model declares.
#[derive(Debug)]
pub(crate) struct Undeclared {
    pub(crate) name: Name,
    /// Whether it can only come from the inputs.
    pub(crate) is_needed: bool,
}

#[derive(Debug)]
pub(crate) struct Knowledge {
    pub(crate) requires: Vec<Requirement>,
    pub(crate) function: Arc<FunctionOf>,
}

/// A function that the model defines.
#[derive(Debug)]
pub(crate) struct FunctionOf {
    pub(crate) name: Name,
    pub(crate) parameters: Vec<Variable>,
    pub(crate) result: TypeId,
    pub(crate) body: Boxed,
}

/// A parameter, or the entry of a context.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: Name,
    pub(crate) of: TypeId,
}

#[derive(Debug)]
pub(crate) struct Service {
    /// The type of its result.
    pub(crate) result: TypeId,
    /// Its input data, then its input decisions: the order in which it is called.
    pub(crate) inputs: Vec<Requirement>,
    pub(crate) outputs: Vec<Requirement>,
}

/// Another element that an element needs.
#[derive(Clone, Debug)]
pub(crate) struct Requirement {
    /// The names of the imports on the way.
    pub(crate) path: Vec<Name>,
    pub(crate) element: ElementId,
}

impl Model {
    pub(crate) fn new(types: Types, elements: Vec<Element>, own: usize) -> Self {
        let mut by_id = HashMap::new();
        let mut by_name = HashMap::new();
        for (at, element) in elements.iter().enumerate().take(own) {
            if let Some(id) = &element.id {
                by_id.entry(id.clone()).or_insert(at);
            }
            by_name.entry(Name::clone(&element.name)).or_insert(at);
        }
        Self { types, elements, own, by_id, by_name, helpers: Helpers::default() }
    }

    /// The types of the parameters by which an element is called.
    pub(crate) fn parameters(&self, element: ElementId) -> Vec<Variable> {
        match &self.elements[element].kind {
            Kind::Input(_) | Kind::Decision(_) => Vec::new(),
            Kind::Knowledge(knowledge) => knowledge.function.parameters.clone(),
            Kind::Service(service) => {
                let variable = |it: &Requirement| Variable {
                    name: Name::clone(&self.elements[it.element].name),
                    of: self.type_of(it.element),
                };
                service.inputs.iter().map(variable).collect()
            }
        }
    }

    /// The type of an element's value, or of what it gives when it is called.
    pub(crate) fn type_of(&self, element: ElementId) -> TypeId {
        match &self.elements[element].kind {
            Kind::Input(of) => *of,
            Kind::Decision(decision) => decision.of,
            Kind::Knowledge(knowledge) => knowledge.function.result,
            Kind::Service(service) => service.result,
        }
    }
}

impl Requirement {
    /// The element and the imports to it, for one that was reached through these imports.
    pub(crate) fn key(&self, path: &[Name]) -> (Vec<Name>, ElementId) {
        (path.iter().chain(&self.path).cloned().collect(), self.element)
    }

    /// Makes its name known to expressions.
    pub(crate) fn declare(&self, name: &str, names: &mut Names) {
        match self.path.split_first() {
            None => names.add(name),
            Some((first, rest)) => {
                names.add(first);
                for step in rest {
                    names.add_component(step);
                }
                names.add_component(name);
            }
        }
    }
}
