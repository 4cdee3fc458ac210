/** The TypeScript module that holds the scripts of one package: one constant for each `.lua` file. */
import { compact } from './compact.mjs';
import { readHeader } from './header.mjs';

const CONSTANT = /^[a-z][A-Za-z0-9]*$/;

/**
 * @param {{ name: string, text: string }[]} scripts by file name without `.lua`; `queue.enqueue` becomes `queueEnqueue`
 * @param {string} from where `Script` is imported from
 */
export function renderScripts(scripts, from) {
  const taken = new Map();
  const parts = scripts.map(({ name, text }) => {
    const { flags, keys, args, restKey, restArg } = readHeader(name, text);
    const constant = name.replace(/[.-]([a-z])/g, (_, letter) => letter.toUpperCase());
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
      `source: ${JSON.stringify(compact(text))} as string`,
    ];
    // Without the mark, a bundler would keep the scripts of all classes for whoever imports one of them.
    return `export const ${constant} = /* @__PURE__ */ new Script({\n  ${fields.join(',\n  ')},\n} as const);\n`;
  });
  return `// Made from the .lua files of this folder by \`npm run scripts\`, and not committed. Edit those.\nimport { Script } from '${from}';\n\n${parts.join('\n')}`;
}
