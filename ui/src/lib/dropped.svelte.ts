// Files that somebody has chosen, until they are deployed or put away.
class Dropped {
  files = $state.raw<File[]>([]);
  take(files: File[]): void {
    const names = new Set(files.map((it) => it.name));
    this.files = [...this.files.filter((it) => !names.has(it.name)), ...files];
  }
  remove(name: string): void {
    this.files = this.files.filter((it) => it.name !== name);
  }
  clear(): void {
    this.files = [];
  }
}
export const dropped = new Dropped();
