/** The TypeScript module that holds the scripts of one package: one constant for each `.lua` file. */
import { compact } from './compact.mjs';
import { readHeader } from './header.mjs';

const CONSTANT = /^[a-z][A-Za-z0-9]*$/;

/**
 * @typedef {(string | { part: string })[]} Pieces
 * @param {{ name: string, text: string, pieces?: Pieces }[]} scripts by file name without `.lua`; `queue.enqueue` becomes
 *   `queueEnqueue`
 * @param {string} from where `Script` is imported from
 * @param {Map<string, Pieces>} shared parts of several scripts by file name, each after those that it includes
 */
export function renderScripts(scripts, from, shared = new Map()) {
  const taken = new Map();
  // Each text stands once: the scripts of all packages have 303 kB, and 437 with the parts in each of them.
  const parts = Array.from(shared, ([part, pieces]) => `const ${constantOf(part)} = ${source(pieces)};\n`);
  const constants = scripts.map(({ name, text, pieces = [text] }) => {
    const { flags, keys, args, restKey, restArg } = readHeader(name, text);
    const constant = constantOf(name);
    if (!CONSTANT.test(constant) || constant === name) {
      throw new Error(`${name}: a script is named <class>.<verb>, such as queue.enqueue`);
    }
    if (taken.has(constant)) throw new Error(`${name}: ${taken.get(constant)} gives ${constant} already`);
    taken.set(constant, name);
    const fields = [
      `name: ${JSON.stringify(name)}`,
      `isReadOnly: ${flags.includes('no-writes')}`,
      `keys: ${JSON.stringify(keys)}`,
      `args: ${JSON.stringify(args)}`,
      ...(restKey ? [`restKey: ${JSON.stringify(restKey)}`] : []),
      ...(restArg ? [`restArg: ${JSON.stringify(restArg)}`] : []),
      // A literal type would stand in the declarations of the package: 70 kB for the scripts of locks.
      `source: ${source(pieces)} as string`,
    ];
    // Without the mark, a bundler would keep the scripts of all classes for whoever imports one of them.
    return `export const ${constant} = /* @__PURE__ */ new Script({\n  ${fields.join(',\n  ')},\n} as const);\n`;
  });
  return `// Made from the .lua files of this folder by \`npm run scripts\`, and not committed. Edit those.\nimport { Script } from '${from}';\n\n${[...parts, ...constants].join('\n')}`;
}

/** @param {string} name */
function constantOf(name) {
  return name.replace(/\.lua$/, '').replace(/[.-]([a-z])/g, (_, letter) => letter.toUpperCase());
}

/** @param {Pieces} pieces */
function source(pieces) {
  const texts = [];
  for (const piece of pieces) {
    const text = typeof piece === 'string' ? compact(piece) : constantOf(piece.part);
    if (text !== '') texts.push(typeof piece === 'string' ? JSON.stringify(text) : text);
  }
  // A bundler drops this call with the script, as it drops no `+` of two constants.
  return texts.length === 1 ? texts[0] : `/* @__PURE__ */ ''.concat(${texts.join(', ')})`;
}
