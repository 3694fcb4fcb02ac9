// Pages on which something begins, and those about the server.
export { default as About } from './About.svelte';
export { default as Access } from './Access.svelte';
export { default as Cluster } from './Cluster.svelte';
export { default as Decision } from './Decision.svelte';
export { default as Decisions } from './Decisions.svelte';
export { default as Deploy } from './Deploy.svelte';
export { default as Feel } from './Feel.svelte';
export { default as Models } from './Models.svelte';
export { default as Settings } from './Settings.svelte';
export { default as Start } from './Start.svelte';
