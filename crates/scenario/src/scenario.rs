//! Scenario files: which instances there are, what is known of them, and since when.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
};

use travertine_lang::bpmnos::{Assignment, Fault, Formula, Surroundings};
use travertine_value::{Name, Number, Value};

use crate::{
    model::{AttributeId, AttributeKind, INSTANCE, Kind, Model, NodeId, TIMESTAMP, names_in},
    random::Random,
    run::typed,
    tables::Tables,
};

/// What a run begins with.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    pub(crate) instances: Vec<Given>,
    pub(crate) globals: BTreeMap<AttributeId, Value>,
}

/// An instance of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) id: Name,
    pub(crate) process: NodeId,
    pub(crate) values: BTreeMap<AttributeId, Value>,
    /// Since when each node's data is known, where that is not from the start.
    pub(crate) disclosed: BTreeMap<NodeId, Number>,
    pub(crate) ready: BTreeMap<NodeId, Vec<Assignment>>,
    pub(crate) completion: BTreeMap<NodeId, Vec<Assignment>>,
}

/// What is wrong with a scenario, and in which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The line, from 1.
    pub line: usize,
    message: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ScenarioError {}

const COLUMNS: [&str; 6] =
    ["INSTANCE_ID", "NODE_ID", "INITIALIZATION", "DISCLOSURE", "READY", "COMPLETION"];

impl Scenario {
    /// Reads a scenario of a model.
    pub fn read(
        text: &str,
        model: &Model,
        tables: &Tables,
        seed: u64,
    ) -> Result<Self, ScenarioError> {
        let text = text.trim_start_matches('\u{feff}');
        let lines = text.lines().enumerate().map(|(position, line)| (position + 1, line));
        let mut lines = lines.filter(|(_, line)| !line.trim().is_empty());
        let at = |line: usize| move |message: String| ScenarioError { line, message };
        let (first, header) = lines.next().ok_or_else(|| {
            at(1)(
                "the scenario is empty; it begins with INSTANCE_ID; NODE_ID; INITIALIZATION"
                    .to_owned(),
            )
        })?;
        let columns = columns(&texts(header)).map_err(at(first))?;
        let mut reader = Reader {
            model,
            tables,
            seed,
            columns,
            scenario: Self::default(),
            known: HashMap::new(),
        };
        for (line, text) in lines {
            let mut row = texts(text);
            while row.last().is_some_and(String::is_empty) {
                row.pop();
            }
            reader.row(&row).map_err(at(line))?;
        }
        Ok(reader.scenario)
    }
}

/// Where each column is.
fn columns(header: &[String]) -> Result<[Option<usize>; 6], String> {
    if header.len() == 1 && header[0].contains(',') {
        return Err("columns are parted by semicolons, not by commas".to_owned());
    }
    if let Some(other) = header.iter().find(|it| !COLUMNS.contains(&it.as_str())) {
        return Err(format!("there is no column {other}; there are {}", COLUMNS.join(", ")));
    }
    let columns = COLUMNS.map(|column| header.iter().position(|it| it == column));
    match COLUMNS.iter().zip(&columns).take(3).find(|(_, at)| at.is_none()) {
        Some((missing, _)) => Err(format!("the column {missing} is missing")),
        None => Ok(columns),
    }
}

/// What stands between two semicolons.
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) is_quoted: bool,
}

/// The cells of a line, parted by semicolons outside of quotes.
pub(crate) fn cells(line: &str) -> Vec<Cell> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            ';' if !quoted => cells.push(String::new()),
            _ => {
                quoted ^= letter == '"';
                cells.last_mut().expect("there is one").push(letter);
            }
        }
    }
    cells.into_iter().map(|it| unquoted(it.trim())).collect()
}

/// The texts of the cells of a line.
fn texts(line: &str) -> Vec<String> {
    cells(line).into_iter().map(|it| it.text).collect()
}

/// A cell that is quoted as a whole has its quotes doubled inside.
fn unquoted(cell: &str) -> Cell {
    match cell.strip_prefix('"').and_then(|it| it.strip_suffix('"')) {
        Some(inner) => Cell { text: inner.replace("\"\"", "\""), is_quoted: true },
        None => Cell { text: cell.to_owned(), is_quoted: false },
    }
}

struct Reader<'a> {
    model: &'a Model,
    tables: &'a Tables,
    seed: u64,
    columns: [Option<usize>; 6],
    scenario: Scenario,
    known: HashMap<String, usize>,
}

impl Reader<'_> {
    fn row(&mut self, row: &[String]) -> Result<(), String> {
        let cell = |column: usize| {
            self.columns[column].and_then(|it| row.get(it)).map_or("", String::as_str).to_owned()
        };
        let [instance, node, initialization, disclosure, ready, completion] =
            [0, 1, 2, 3, 4, 5].map(cell);
        if row.len() > self.columns.iter().flatten().count() {
            return Err(format!("the row has {} cells, more than columns", row.len()));
        }
        if instance.is_empty() {
            if !node.is_empty()
                || [&disclosure, &ready, &completion].iter().any(|it| !it.is_empty())
            {
                return Err("a row without an instance sets a global, and nothing else".to_owned());
            }
            return self.global(&initialization);
        }
        let position = self.instance(&instance, &node)?;
        let node = self.node(position, &node)?;
        if !initialization.is_empty() {
            self.value(position, node, &initialization)?;
        }
        let mut random =
            Random::new(self.seed, &[&instance, &self.model.nodes[node].id, "DISCLOSURE"]);
        if !disclosure.is_empty() {
            let formula = Formula::parse(&disclosure).map_err(|it| it.message)?;
            self.are_known(names_in(&formula), node)?;
            let value = formula.value(&mut self.known_of(Some(position), node, &mut random));
            let value = value.map_err(|it| it.0)?;
            let Some(time) = value.as_number() else {
                return Err(format!("the disclosure `{disclosure}` is no time"));
            };
            let disclosed = &mut self.scenario.instances[position].disclosed;
            let known = disclosed.entry(node).or_insert(time);
            *known = (*known).max(time);
        }
        let given = |text: &str| -> Result<Vec<Assignment>, String> {
            if text.is_empty() { Ok(Vec::new()) } else { self.assignments(node, text) }
        };
        let (ready, completion) = (given(&ready)?, given(&completion)?);
        let at = &self.model.nodes[node];
        if !completion.is_empty() && (at.is_scope() || !at.is_activity()) {
            return Err(format!("COMPLETION is of tasks, and {} is none", at.id));
        }
        if !ready.is_empty() && !at.is_activity() {
            return Err(format!("READY is of activities, and {} is none", at.id));
        }
        if !ready.is_empty() && at.for_compensation {
            return Err(format!("{} undoes something, and is never READY", at.id));
        }
        if !disclosure.is_empty() && !at.is_scope() && (!at.is_activity() || at.for_compensation) {
            return Err(format!("nothing of {} could be disclosed", at.id));
        }
        let instance = &mut self.scenario.instances[position];
        instance.ready.entry(node).or_default().extend(ready);
        instance.completion.entry(node).or_default().extend(completion);
        Ok(())
    }

    /// The instance of that id. Its first row names its process.
    fn instance(&mut self, id: &str, node: &str) -> Result<usize, String> {
        if let Some(known) = self.known.get(id) {
            return Ok(*known);
        }
        let is_process = |it: &NodeId| matches!(self.model.nodes[*it].kind, Kind::Process);
        let Some(process) = self.model.find(node).filter(is_process) else {
            let known: Vec<&str> = self.model.processes().collect();
            return Err(format!(
                "the first row of instance {id} names its process, and there is no process '{node}'; \
                 there are: {}",
                known.join(", ")
            ));
        };
        let position = self.scenario.instances.len();
        self.known.insert(id.to_owned(), position);
        self.scenario.instances.push(Given {
            id: id.into(),
            process,
            values: BTreeMap::new(),
            disclosed: BTreeMap::new(),
            ready: BTreeMap::new(),
            completion: BTreeMap::new(),
        });
        Ok(position)
    }

    /// The node that a row is about.
    fn node(&self, position: usize, id: &str) -> Result<NodeId, String> {
        let process = self.scenario.instances[position].process;
        if id.is_empty() {
            return Ok(process);
        }
        let carried = || {
            let mut all = self.model.attributes.iter();
            all.find(|it| it.carriers.iter().any(|it| it == id)).and_then(|it| it.owner)
        };
        let found = self.model.find(id).or_else(carried);
        match found.filter(|it| self.model.process_of(*it) == process) {
            Some(node) => Ok(node),
            None => Err(format!("there is no node '{id}' in {}", self.model.nodes[process].id)),
        }
    }

    fn global(&mut self, text: &str) -> Result<(), String> {
        let assignment =
            Assignment::parse(text).map_err(|it| format!("`{text}`: {}", it.message))?;
        let Some(id) = self.model.globals.get(&assignment.target).copied() else {
            return Err(format!("there is no global attribute '{}'", assignment.target));
        };
        self.may_be_given(id)?;
        let mut read = assignment.formula.iter().flat_map(names_in);
        if let Some(name) = read.find(|it| !self.model.globals.contains_key(*it)) {
            return Err(format!("there is no global attribute '{name}'"));
        }
        let mut random = Random::new(self.seed, &["", "", text]);
        let value = assignment.value(&mut Constant {
            model: self.model,
            tables: self.tables,
            random: &mut random,
            names: &self.model.globals,
            instance: None,
            values: [Some(&self.scenario.globals), None],
        });
        let value = typed(&self.model.attributes[id], value.map_err(|it| it.0)?)?;
        self.scenario.globals.insert(id, value);
        Ok(())
    }

    fn value(&mut self, position: usize, node: NodeId, text: &str) -> Result<(), String> {
        let assignment =
            Assignment::parse(text).map_err(|it| format!("`{text}`: {}", it.message))?;
        let at = &self.model.nodes[node];
        let id = at.names.get(&assignment.target).copied();
        let Some(id) = id.filter(|it| at.status.contains(it) || at.data.contains(it)) else {
            let own = at.status.iter().chain(&at.data).map(|it| &*self.model.attributes[*it].name);
            let own: Vec<&str> = own.collect();
            return Err(format!(
                "{} has no attribute '{}'; it has: {}",
                at.id,
                assignment.target,
                own.join(", ")
            ));
        };
        self.may_be_given(id)?;
        if id == INSTANCE {
            return Err("the first column names the instance".to_owned());
        }
        self.are_known(assignment.formula.iter().flat_map(names_in), node)?;
        let instance = Name::clone(&self.scenario.instances[position].id);
        let mut random = Random::new(self.seed, &[&instance, &at.id, text]);
        let value = assignment.value(&mut self.known_of(Some(position), node, &mut random));
        let value = typed(&self.model.attributes[id], value.map_err(|it| it.0)?)?;
        if id == TIMESTAMP && value.as_number().is_none() {
            return Err("a timestamp is a number".to_owned());
        }
        self.scenario.instances[position].values.insert(id, value);
        Ok(())
    }

    fn may_be_given(&self, id: AttributeId) -> Result<(), String> {
        let attribute = &self.model.attributes[id];
        if attribute.formula.is_some() {
            return Err(format!(
                "{} is worked out, and takes no value from outside",
                attribute.name
            ));
        }
        Ok(())
    }

    fn assignments(&self, node: NodeId, text: &str) -> Result<Vec<Assignment>, String> {
        let all = Assignment::parse_all(text).map_err(|it| format!("`{text}`: {}", it.message))?;
        let names = &self.model.nodes[node].names;
        for it in &all {
            let read = it.formula.iter().flat_map(names_in);
            self.are_known(read.chain([&it.target]), node)?;
            match names.get(&it.target) {
                Some(&INSTANCE) => return Err("the instance cannot be changed".to_owned()),
                Some(id) if self.model.attributes[*id].kind != AttributeKind::Status => {
                    return Err(format!("{} is no status attribute", it.target));
                }
                _ => {}
            }
        }
        Ok(all)
    }

    /// Whether all names mean something at a node.
    fn are_known<'n>(
        &self,
        mut names: impl Iterator<Item = &'n Name>,
        node: NodeId,
    ) -> Result<(), String> {
        let node = &self.model.nodes[node];
        match names.find(|it| !node.names.contains_key(*it)) {
            Some(name) => Err(format!("there is no attribute '{name}' at {}", node.id)),
            None => Ok(()),
        }
    }

    /// What rows before have said.
    fn known_of<'s>(
        &'s self,
        position: Option<usize>,
        node: NodeId,
        random: &'s mut Random,
    ) -> Constant<'s> {
        let own = position.map(|it| &self.scenario.instances[it]);
        Constant {
            model: self.model,
            tables: self.tables,
            random,
            names: &self.model.nodes[node].names,
            instance: own.map(|it| &it.id),
            values: [Some(&self.scenario.globals), own.map(|it| &it.values)],
        }
    }
}

/// What a formula in a scenario sees.
struct Constant<'a> {
    model: &'a Model,
    tables: &'a Tables,
    random: &'a mut Random,
    names: &'a BTreeMap<Name, AttributeId>,
    instance: Option<&'a Name>,
    values: [Option<&'a BTreeMap<AttributeId, Value>>; 2],
}

impl Surroundings for Constant<'_> {
    fn read(&mut self, name: &str) -> Value {
        let Some(id) = self.names.get(name) else { return Value::Null };
        if let (&INSTANCE, Some(instance)) = (id, self.instance) {
            return Value::String(Name::clone(instance));
        }
        let mut all = self.values.iter().flatten();
        all.find_map(|it| it.get(id)).cloned().unwrap_or_default()
    }

    fn call(&mut self, name: &str, arguments: &[Value]) -> Result<Value, Fault> {
        if self.model.tables.contains_key(name) {
            return self.tables.look_up(name, arguments);
        }
        let drawn = self.random.draw(name, arguments);
        drawn.unwrap_or_else(|| Err(Fault(format!("there is no function {name}"))))
    }
}
