// Lists of what runs and of what waits.
export { default as Incidents } from './Incidents.svelte';
export { default as Instances } from './Instances.svelte';
export { default as Jobs } from './Jobs.svelte';
export { default as Messages } from './Messages.svelte';
export { default as Operations } from './Operations.svelte';
export { default as Process } from './Process.svelte';
export { default as Processes } from './Processes.svelte';
export { default as Schedules } from './Schedules.svelte';
export { default as Tasks } from './Tasks.svelte';
export { default as Timers } from './Timers.svelte';
