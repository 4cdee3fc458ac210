/** A page of docs/start, for a test that does what it says. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FILE = /^<!-- tooling\/consumers\/programs\/start\/\w+\/(\S+) -->\n\n```\w+\n([\s\S]*?)^```$/gm;
const INSTALL = /^(npm install(?: --prefix \.)?) (.*)$/gm;

export class StartPage {
  readonly text: string;

  constructor(host: string) {
    this.text = readFileSync(
      fileURLToPath(new URL(`../../../docs/start/${host}.md`, import.meta.url)),
      'utf8',
    );
  }

  /** The first block of commands, with fixed versions and the packed packages in place of the published ones. */
  installation(packed: string, versions: ReadonlyMap<string, string>): string {
    const tarballs = readdirSync(packed);
    const found = (name: string): string => {
      const version = versions.get(name);
      if (version !== undefined) return `${name}@${version}`;
      const tarball = tarballs.find((file) => file.startsWith(`${name.replace('@mortise/', 'mortise-')}-`));
      if (tarball === undefined) throw new Error(`the page installs ${name}, which this test doesn't know`);
      return join(packed, tarball);
    };
    return this.commandsAfter('# ').replaceAll(INSTALL, (_, install: string, names: string) => {
      const wanted = names.split(' ');
      // The registry would give the base to those that need it.
      if (wanted.some((name) => name.startsWith('@mortise/'))) wanted.push('@mortise/redis');
      return `${install} ${wanted.map(found).join(' ')}`;
    });
  }

  /** The first block of commands after a heading. */
  commandsAfter(heading: string): string {
    const from = this.text.search(new RegExp(`^${heading}`, 'm'));
    if (from < 0) throw new Error(`the page has no heading "${heading}"`);
    return this.block('sh', from).trimEnd();
  }

  /** The first block in a language. */
  block(language: string, from = 0): string {
    const [, text] =
      new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(this.text.slice(from)) ?? [];
    if (text === undefined) throw new Error(`the page has no block of ${language}`);
    return text;
  }

  /** Writes each file of the page under the name that its text gives. */
  writeFiles(folder: string): void {
    for (const [, name, code] of this.text.matchAll(FILE)) {
      if (!this.text.includes(`\`${name}\``)) throw new Error(`the page doesn't say where ${name} lies`);
      const path = join(folder, name!);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, code!);
    }
  }
}
