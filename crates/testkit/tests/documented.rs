//! What functions and the engine offer to programs has an example: what the crate `travertine` takes from
//! their rooms, what the methods of that take and give, and so on. Values, rows and the words of the kernel,
//! which programs see through it too, are left out.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use quote::ToTokens;
use syn::{
    Attribute, Field, ImplItem, Item, Meta, Token, TraitItem, UseTree, Visibility,
    punctuated::Punctuated,
};

/// The rooms that are looked at.
const ROOMS: [&str; 4] = ["travertine", "func", "macros", "runtime"];

/// A type, function or macro of a room, or a method.
struct Public {
    /// Where it stands.
    file: String,
    line: usize,
    /// For people: `Context::call`.
    name: String,
    has_example: bool,
    /// What may be types among the words of its signature, or of its fields.
    mentions: BTreeSet<String>,
}

/// What a room has for others, by the name of the type, function or macro that it belongs to.
type Room = BTreeMap<String, Vec<Public>>;

#[test]
fn what_functions_and_the_engine_offer_to_programs_has_an_example() {
    let rooms = ROOMS.map(|room| (room, read(room)));
    let offered = offered();
    let mut seen = BTreeSet::new();
    let mut open: Vec<_> =
        offered.iter().map(|(room, name)| (room.as_str(), name.clone())).collect();
    let mut missing = Vec::new();
    while let Some((room, name)) = open.pop() {
        let own = rooms.iter().filter(|(it, all)| *it == room && all.contains_key(&name));
        let other = rooms.iter().filter(|(_, all)| all.contains_key(&name));
        let Some((room, all)) = own.chain(other).next() else {
            // It may be a module, which offers all that it has.
            let all = rooms.iter().filter(|(it, _)| *it == room).flat_map(|(_, all)| all);
            let file = format!("/{name}.rs");
            let inside = all.filter(|(_, it)| it.iter().any(|it| it.file.ends_with(&file)));
            open.extend(inside.map(|(inside, _)| (room, inside.clone())));
            continue;
        };
        if !seen.insert((*room, name.clone())) {
            continue;
        }
        for it in &all[&name] {
            if !it.has_example {
                missing.push(format!("{}:{}: {}", it.file, it.line, it.name));
            }
            open.extend(it.mentions.iter().map(|it| (*room, it.clone())));
        }
    }
    assert!(seen.len() > 50, "the rooms are not read: {seen:?}");
    missing.sort();
    let (count, list) = (missing.len(), missing.join("\n"));
    assert!(missing.is_empty(), "{count} public items without an example:\n{list}");
}

/// What the crate that programs use takes from which room, and its own.
fn offered() -> BTreeSet<(String, String)> {
    let text =
        fs::read_to_string(root().join("crates/travertine/src/lib.rs")).expect("it is there");
    let mut found = BTreeSet::new();
    for item in syn::parse_file(&text).expect("it is Rust").items {
        if let Item::Use(it) = &item
            && is_public(&it.vis, &it.attrs)
        {
            let UseTree::Path(path) = &it.tree else { panic!("what is offered has a room") };
            let room = path.ident.to_string().replace("travertine_", "");
            leaves(&path.tree, &mut |name| {
                // What derives a trait is called like it, and its function like that in small letters.
                let name = if room == "macros" { name.to_lowercase() } else { name };
                found.insert((room.clone(), name));
            });
        }
    }
    let own = read("travertine").into_keys();
    found.extend(own.map(|name| ("travertine".to_owned(), name)));
    found
}

fn leaves(tree: &UseTree, found: &mut impl FnMut(String)) {
    match tree {
        UseTree::Path(it) => leaves(&it.tree, found),
        UseTree::Name(it) => found(it.ident.to_string()),
        UseTree::Group(it) => it.items.iter().for_each(|it| leaves(it, found)),
        UseTree::Rename(_) | UseTree::Glob(_) => panic!("offered under another name, or unnamed"),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(room: &str) -> Room {
    let mut found = Room::new();
    read_folder(&root().join("crates").join(room).join("src"), &mut found);
    found
}

fn read_folder(folder: &Path, found: &mut Room) {
    for entry in fs::read_dir(folder).expect("it is there") {
        let path = entry.expect("it is there").path();
        if path.is_dir() {
            read_folder(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs") {
            let text = fs::read_to_string(&path).expect("it is text");
            let file = path.to_string_lossy().replace(&*root().to_string_lossy(), "");
            let mut reader =
                Reader { file: file.trim_start_matches('/'), text: &text, at: 0, found };
            let items = syn::parse_file(&text).expect("it is Rust").items;
            for item in &items {
                reader.item(item);
            }
        }
    }
}

/// Reads a file from its top to its end.
struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    /// How far it has come.
    at: usize,
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
        self.found.entry(owner.to_owned()).or_default();
        if is_public(vis, attrs) && !is_test(attrs) {
            self.add(owner, start, attrs, owner, types_in(mentions));
        }
    }

    fn method(&mut self, owner: &str, attrs: &[Attribute], sig: &syn::Signature) {
        let (name, own) = (sig.ident.to_string(), format!("{owner}::{}", sig.ident));
        self.add(owner, ("fn", &name), attrs, &own, types_in(sig));
    }

    fn add(
        &mut self,
        owner: &str,
        (keyword, ident): (&str, &str),
        attrs: &[Attribute],
        name: &str,
        mentions: BTreeSet<String>,
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
        self.found.entry(owner.to_owned()).or_default().push(Public {
            file: self.file.to_owned(),
            line,
            name: name.to_owned(),
            has_example: has_example(attrs),
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

/// Whether its documentation has code that compiles.
fn has_example(attrs: &[Attribute]) -> bool {
    let docs = attrs.iter().filter(|it| it.path().is_ident("doc"));
    let lines = docs.map(|it| it.meta.to_token_stream().to_string());
    let mut fences = lines.filter_map(|it| Some(it.split_once("```")?.1.to_owned()));
    let is_code =
        |info: &String| !["text", "compile_fail", "ignore"].iter().any(|it| info.contains(it));
    // Every other one begins a block.
    std::iter::from_fn(|| fences.next().inspect(|_| drop(fences.next()))).any(|it| is_code(&it))
}

/// The words of a piece of code.
fn words(it: &impl ToTokens) -> BTreeSet<String> {
    let text = it.to_token_stream().to_string();
    let words = text.split(|it: char| !it.is_alphanumeric() && it != '_');
    words.filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

/// Those of them that can be types.
fn types_in(it: &impl ToTokens) -> BTreeSet<String> {
    words(it).into_iter().filter(|it| it.starts_with(char::is_uppercase)).collect()
}
