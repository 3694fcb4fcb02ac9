//! What the crate `travertine` offers to programs is documented: what it takes from other rooms, what the
//! methods of that take and give, and so on. Programs can name all of it. Examples stand where they teach something.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use quote::ToTokens;
use syn::{
    Attribute, Field, ImplItem, Item, Meta, Token, TraitItem, UseTree, Visibility,
    punctuated::Punctuated,
};

use crate::root;

/// The rooms that are looked at.
const ROOMS: [&str; 7] = ["travertine", "func", "macros", "runtime", "value", "kernel", "store"];

/// A type, function, macro or module of a room, or a method.
struct Public {
    /// Where it stands.
    file: String,
    line: usize,
    /// For people: `Context::call`.
    name: String,
    is_documented: bool,
    /// As opposed to a function, a method or a macro.
    is_type: bool,
    /// What may be types in its signature, or in its fields.
    mentions: BTreeSet<Mention>,
}

/// A room, and the name of something that is taken from there.
type Mention = (String, String);

#[derive(Default)]
struct Room {
    /// What it has for others, by the name of the type, function or macro that it belongs to.
    own: BTreeMap<String, Vec<Public>>,
    /// What it has from others and passes on.
    passed_on: BTreeMap<String, Mention>,
}

#[test]
fn what_programs_are_offered_has_a_name_and_is_documented() {
    let rooms: BTreeMap<_, _> = ROOMS.map(|room| (room.to_owned(), read(room))).into();
    let named: BTreeSet<_> = offered().into_iter().flat_map(|it| meant(&rooms, it)).collect();
    let mut seen = BTreeSet::new();
    let mut open: Vec<_> = named.iter().cloned().collect();
    let (mut missing, mut nameless) = (Vec::new(), Vec::new());
    while let Some(mention) = open.pop() {
        let Some((room, name)) = origin(&rooms, mention) else { continue };
        let is_named = named.contains(&(room.clone(), name.clone()));
        if !seen.insert((room.clone(), name.clone())) {
            continue;
        }
        for it in &rooms[&room].own[&name] {
            if it.is_type && !is_named {
                nameless.push(format!("{}:{}: {}", it.file, it.line, it.name));
            }
            if !it.is_documented {
                missing.push(format!("{}:{}: {}", it.file, it.line, it.name));
            }
            open.extend(it.mentions.iter().cloned());
        }
    }
    assert!(seen.len() > 150, "the rooms are not read: {seen:?}");
    assert_none(missing, "public items that nobody has documented");
    assert_none(nameless, "types that programs meet and cannot name");
}

/// What is offered by that name: one thing, or all that a module has.
fn meant(rooms: &BTreeMap<String, Room>, (room, name): Mention) -> Vec<Mention> {
    if let Some(it) = origin(rooms, (room.clone(), name.clone())) {
        return vec![it];
    }
    let file = format!("/{name}.rs");
    let all = rooms.get(&room).into_iter().flat_map(|it| &it.own);
    let inside = all.filter(|(_, it)| it.iter().any(|it| it.file.ends_with(&file)));
    inside.map(|(inside, _)| (room.clone(), inside.clone())).collect()
}

/// Where it is defined, whoever passes it on; `None` where it is not ours.
fn origin(rooms: &BTreeMap<String, Room>, (room, name): Mention) -> Option<Mention> {
    let all = rooms.get(&room)?;
    if all.own.contains_key(&name) {
        return Some((room, name));
    }
    origin(rooms, all.passed_on.get(&name)?.clone())
}

fn assert_none(mut found: Vec<String>, what: &str) {
    found.sort();
    assert!(found.is_empty(), "{} {what}:\n{}", found.len(), found.join("\n"));
}

/// What the crate that programs use takes from which room, and its own.
fn offered() -> BTreeSet<Mention> {
    let text =
        fs::read_to_string(root().join("crates/travertine/src/lib.rs")).expect("it is there");
    let mut found = BTreeSet::new();
    taken(&syn::parse_file(&text).expect("it is Rust").items, &mut found);
    let own = read("travertine").own.into_keys();
    found.extend(own.map(|name| ("travertine".to_owned(), name)));
    found
}

/// What these items take from other rooms, in modules too.
fn taken(items: &[Item], found: &mut BTreeSet<Mention>) {
    for item in items {
        if let Item::Mod(it) = item
            && is_public(&it.vis, &it.attrs)
        {
            taken(it.content.as_ref().map_or(&[], |(_, items)| items), found);
        } else if let Item::Use(it) = item
            && is_public(&it.vis, &it.attrs)
        {
            let UseTree::Path(path) = &it.tree else { panic!("what is offered has a room") };
            let room = path.ident.to_string().replace("travertine_", "");
            leaves(&path.tree, &mut |name, shown| {
                assert_eq!(name, shown, "offered under another name");
                // What derives a trait is called like it, and its function like that in small letters.
                let name = if room == "macros" { name.to_lowercase() } else { name };
                found.insert((room.clone(), name));
            });
        }
    }
}

/// The names at the ends of a tree, and what they are called here.
fn leaves(tree: &UseTree, found: &mut impl FnMut(String, String)) {
    match tree {
        UseTree::Path(it) => leaves(&it.tree, found),
        UseTree::Name(it) => found(it.ident.to_string(), it.ident.to_string()),
        UseTree::Rename(it) => found(it.ident.to_string(), it.rename.to_string()),
        UseTree::Group(it) => it.items.iter().for_each(|it| leaves(it, found)),
        UseTree::Glob(_) => {}
    }
}

fn read(room: &str) -> Room {
    let mut found = Room::default();
    read_folder(room, &root().join("crates").join(room).join("src"), &mut found);
    found
}

fn read_folder(room: &str, folder: &Path, found: &mut Room) {
    for entry in fs::read_dir(folder).expect("it is there") {
        let path = entry.expect("it is there").path();
        if path.is_dir() {
            read_folder(room, &path, found);
        } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs") {
            let text = fs::read_to_string(&path).expect("it is text");
            let file = path.to_string_lossy().replace(&*root().to_string_lossy(), "");
            let items = syn::parse_file(&text).expect("it is Rust").items;
            let imports = imports(room, &items, &mut found.passed_on);
            let file = file.trim_start_matches('/');
            let mut reader = Reader { room, file, text: &text, at: 0, imports, found };
            for item in &items {
                reader.item(item);
            }
        }
    }
}

/// What a file has from elsewhere, by what it is called there. What is public in it is passed on.
fn imports(
    room: &str,
    items: &[Item],
    passed_on: &mut BTreeMap<String, Mention>,
) -> BTreeMap<String, Mention> {
    let modules =
        items.iter().filter_map(|it| if let Item::Mod(it) = it { Some(it) } else { None });
    let here = |it: &syn::Ident| (it.to_string(), (room.to_owned(), it.to_string()));
    let mut found: BTreeMap<_, _> = modules.map(|it| here(&it.ident)).collect();
    for item in items {
        if let Item::Use(it) = item
            && let UseTree::Path(path) = &it.tree
        {
            let is_passed_on = is_public(&it.vis, &it.attrs);
            let start = path.ident.to_string();
            let module = found.get(&start).map(|(room, _)| room.clone());
            let from = module.unwrap_or_else(|| room_of(&start, room));
            leaves(&path.tree, &mut |name, shown| {
                let mention = (from.clone(), name);
                if is_passed_on && from != room {
                    passed_on.insert(shown.clone(), mention.clone());
                }
                found.insert(shown, mention);
            });
        }
    }
    found
}

/// The room that a path begins in. Other crates are like rooms that nobody reads.
fn room_of(start: &str, room: &str) -> String {
    match start {
        "crate" | "self" | "super" => room.to_owned(),
        other => other.trim_start_matches("travertine_").to_owned(),
    }
}

/// Reads a file from its top to its end.
struct Reader<'a> {
    room: &'a str,
    file: &'a str,
    text: &'a str,
    /// How far it has come.
    at: usize,
    imports: BTreeMap<String, Mention>,
    found: &'a mut Room,
}

impl Reader<'_> {
    fn item(&mut self, item: &Item) {
        match item {
            Item::Struct(it) => {
                let public = it.fields.iter().filter(|it| is_public(&it.vis, &it.attrs));
                self.named("struct", &it.ident, &it.vis, &it.attrs, &types(public));
            }
            Item::Enum(it) => {
                let all = it.variants.iter().flat_map(|it| &it.fields);
                self.named("enum", &it.ident, &it.vis, &it.attrs, &types(all));
            }
            Item::Type(it) => self.named("type", &it.ident, &it.vis, &it.attrs, &it.ty),
            Item::Fn(it) => {
                let owner = it.sig.ident.to_string();
                self.public(&owner, &it.vis, &it.attrs, ("fn", &owner), &it.sig);
            }
            Item::Macro(it) => {
                let exported = it.attrs.iter().any(|it| it.path().is_ident("macro_export"));
                if let (Some(name), true) = (&it.ident, exported && !is_hidden(&it.attrs)) {
                    let name = name.to_string();
                    let start = ("macro_rules!", name.as_str());
                    self.add(&name, start, &it.attrs, &name, BTreeSet::new());
                }
            }
            Item::Trait(it) => {
                self.named("trait", &it.ident, &it.vis, &it.attrs, &it.supertraits);
                if !is_public(&it.vis, &it.attrs) {
                    return;
                }
                for item in &it.items {
                    if let TraitItem::Fn(method) = item
                        && !is_hidden(&method.attrs)
                    {
                        let owner = it.ident.to_string();
                        self.method(&owner, &method.attrs, &method.sig);
                    }
                }
            }
            Item::Impl(it) if it.trait_.is_none() => {
                let syn::Type::Path(of) = &*it.self_ty else { return };
                let Some(owner) = of.path.segments.last() else { return };
                for item in &it.items {
                    if let ImplItem::Fn(method) = item
                        && is_public(&method.vis, &method.attrs)
                    {
                        self.method(&owner.ident.to_string(), &method.attrs, &method.sig);
                    }
                }
            }
            Item::Mod(it) if !is_test(&it.attrs) => {
                if it.content.is_some() {
                    self.named("mod", &it.ident, &it.vis, &it.attrs, &it.ident);
                }
                for it in it.content.iter().flat_map(|(_, items)| items) {
                    self.item(it);
                }
            }
            _ => {}
        }
    }

    fn named(
        &mut self,
        keyword: &str,
        ident: &syn::Ident,
        vis: &Visibility,
        attrs: &[Attribute],
        inside: &impl ToTokens,
    ) {
        let name = ident.to_string();
        self.public(&name, vis, attrs, (keyword, &name), inside);
    }

    fn public(
        &mut self,
        owner: &str,
        vis: &Visibility,
        attrs: &[Attribute],
        start: (&str, &str),
        mentions: &impl ToTokens,
    ) {
        // Whatever the room has of this name is meant in it, and not that of another room.
        self.found.own.entry(owner.to_owned()).or_default();
        if is_public(vis, attrs) && !is_test(attrs) {
            let mentions = self.mentions(mentions);
            self.add(owner, start, attrs, owner, mentions);
        }
    }

    fn method(&mut self, owner: &str, attrs: &[Attribute], sig: &syn::Signature) {
        let (name, own) = (sig.ident.to_string(), format!("{owner}::{}", sig.ident));
        let mentions = self.mentions(sig);
        self.add(owner, ("fn", &name), attrs, &own, mentions);
    }

    /// What may be types in a piece of code, and where they are from.
    fn mentions(&self, code: &impl ToTokens) -> BTreeSet<Mention> {
        let text = code.to_token_stream().to_string().replace(" :: ", "::");
        let paths = text.split(|it: char| !it.is_alphanumeric() && it != '_' && it != ':');
        let types = paths.filter_map(|path| {
            let mut parts = path.split("::").filter(|it| !it.is_empty());
            let start = parts.next()?;
            if start.starts_with(char::is_uppercase) {
                let here = || (self.room.to_owned(), start.to_owned());
                return Some(self.imports.get(start).cloned().unwrap_or_else(here));
            }
            let name = parts.find(|it| it.starts_with(char::is_uppercase))?;
            let module = self.imports.get(start).map(|(room, _)| room.clone());
            Some((module.unwrap_or_else(|| room_of(start, self.room)), name.to_owned()))
        });
        types.collect()
    }

    fn add(
        &mut self,
        owner: &str,
        (keyword, ident): (&str, &str),
        attrs: &[Attribute],
        name: &str,
        mentions: BTreeSet<Mention>,
    ) {
        // The parser knows no lines, but it goes through the text in order.
        let start = format!("{keyword} {ident}");
        let is_whole = |at: &usize| {
            let line = self.text[..*at].rsplit('\n').next().unwrap_or_default();
            let after = self.text[at + start.len()..].chars().next();
            // Methods of traits, and macros, are public without a word.
            (line.trim().is_empty() || line.trim_start().starts_with("pub "))
                && after.is_none_or(|it| !it.is_alphanumeric() && it != '_')
        };
        let mut places = self.text.match_indices(&start).map(|(at, _)| at).filter(is_whole);
        self.at = places.find(|at| *at >= self.at).unwrap_or(self.at);
        let line = self.text[..self.at].lines().count();
        self.found.own.entry(owner.to_owned()).or_default().push(Public {
            file: self.file.to_owned(),
            line,
            name: name.to_owned(),
            is_documented: is_documented(attrs),
            is_type: !["fn", "macro_rules!"].contains(&keyword),
            mentions,
        });
    }
}

fn types<'a>(fields: impl Iterator<Item = &'a Field>) -> Punctuated<&'a syn::Type, Token![,]> {
    fields.map(|it| &it.ty).collect()
}

fn is_public(vis: &Visibility, attrs: &[Attribute]) -> bool {
    matches!(vis, Visibility::Public(_)) && !is_hidden(attrs)
}

fn is_hidden(attrs: &[Attribute]) -> bool {
    let mut lists = attrs.iter().filter(|it| matches!(it.meta, Meta::List(_)));
    lists.any(|it| it.path().is_ident("doc") && words(&it.meta).contains("hidden"))
}

fn is_test(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|it| it.path().is_ident("cfg") && words(&it.meta).contains("test"))
}

/// Whether its documentation says anything.
fn is_documented(attrs: &[Attribute]) -> bool {
    let docs = attrs.iter().filter(|it| it.path().is_ident("doc"));
    docs.map(|it| words(&it.meta)).any(|it| it.iter().any(|word| word != "doc"))
}

/// The words of a piece of code.
fn words(it: &impl ToTokens) -> BTreeSet<String> {
    let text = it.to_token_stream().to_string();
    let words = text.split(|it: char| !it.is_alphanumeric() && it != '_');
    words.filter(|it| !it.is_empty()).map(str::to_owned).collect()
}
