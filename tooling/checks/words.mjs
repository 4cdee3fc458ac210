/**
 * The words that a newcomer would not search for, and what the field calls the same thing: `docs/ARCHITECTURE.md` has the
 * glossary. `node tooling/checks/words.mjs [folder …]` lists where sources and documents still have them; a test refuses them.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Refused anywhere, also as a part of an identifier: `[pattern of lower-case words, what to write]`. */
const REFUSED = [
  [/\b(park|parks|parked|parking|unpark|unparked)\b/, 'idle'],
  [/\bhungry\b/, 'has work'],
  [/\b(rings|rang|ringing)\b/, 'notifies'],
  [/\btold\b/, 'notifies, is notified, learns'],
  [/\b(hears?|heard|hearing)\b/, 'learns'],
  [/\bdesks?\b/, 'claim fetcher'],
  [/\bsettlements?\b/, 'ack, completion'],
  [/\bset aside\b/, 'dead-lettered'],
  [/\btaken ahead\b/, 'prefetched'],
  [/\bhanded over\b/, 'direct hand-off'],
  [/\bbeyond the core\b|\bextended\b/, 'optional features, renewed'],
  [/\bessence\b/, 'record header'],
  [/\bbelieved\b/, 'expected settings'],
  [/\bfound(er|ers|ed|ing)\b/, 'creator, created'],
  [/\bbells?\b/, 'notifier'],
  [/\bears?\b/, 'invalidation listener'],
  [/\bseats?\b/, 'membership'],
  [/\btall(y|ies)\b/, 'safe telemetry'],
  [/\bpatience\b/, 'timeout'],
  [/\bcontests?\b/, 'fair picker'],
  [/\bpumps?\b/, 'grant waiters'],
  [/\bmint(s|ed)?\b/, 'next fencing token'],
  [/\bwitness(es)?\b/, 'clock check'],
  [/\bgathering\b/, 'batch window'],
  [/\bchores?\b/, 'maintenance'],
  [/\bfiring\b/, 'schedule runner'],
  [/\bleft (file|files)\b/, 'abandoned upload'],
  [/\bin front of\b/, 'before'],
  [/\bvanish(ed|es)?\b/, 'missing rows'],
  [/\bhung\b/, 'timed out'],
  [/\bsuspects?\b/, 'failed rows'],
  [/\blikewise\b/, 'also'],
  [/\bnobody's\b/, 'expired'],
  [/\bone day\b/, 'eventually'],
  // "A page may be a second behind" and "leaves nothing behind" are plain English.
  [
    /\b(go|goes|went|begins?|began|comes?|came|stands?|stood|resumes?|resumption|right|step|reading|id) (on )?behind\b/,
    'after',
  ],
  [/\bso long\b(?! that\b)/, 'meanwhile, as long, the time itself'],
];

/** Refused in the names of classes, types and files, since plain sentences need them. */
const REFUSED_NAMES = [
  [/^(wait |result )?lines?$|\bwait lines?\b/, 'wait queue'],
  [/\bturns?\b/, 'acquisition'],
  [/\brests?\b/, 'remainder'],
  [/\bparts?\b/, 'segment'],
  [/\bnotes?\b/, 'progress reports'],
  [/\bnews\b/, 'updates'],
  [/\bask(s|ed|ing)?\b/, 'claim request'],
  [/\bheld\b/, 'claimed tasks'],
  [/\bexchanges?\b/, 'fetch and ack'],
  [/(?<!promise )\bsettl(e|es|ed|ing)\b/, 'ack'],
  [/\bholes?\b/, 'tombstone'],
  [/\bsuppl(y|ies)\b/, 'buffer'],
  [/\boutages?\b/, 'circuit breaker'],
  [/\bstanding\b/, 'position'],
  [/\bopening\b/, 'open barrier'],
  [/\bfollowing\b/, 'subscription'],
  [/\bprocessing\b/, 'worker telemetry'],
  [/\bsending\b/, 'producer telemetry'],
  [/^probes?$|(?<!half open )\bprobes?$/, 'half-open probe'],
];

/** The beginning of a sentence in a comment, a document or the name of a test. */
const BEGINS =
  /(?:^(?:[\s*#>/|-]|\d+\. |<\w+>)*|[.!?;:*] +(?:\/?\*+ )?|\| +|(?:\/\*+|\/\/|--) )[[*_"]*(What|Whatever|Whoever|Who) +(?=[^\s|])/g;
const TEST_NAME =
  /(?:\b(?:test|it|describe)(?:\.\w+)*(?:<[^(]*>)?\(|\]\)\(|\}\)\()\s*['"`](what|whatever|whoever|who)\b/gi;

/** This file and the test of it say what they look for. */
const OWN = /^tooling\/checks\/(words\.mjs|test\/words\.test\.ts)$|^pnpm-lock\.yaml$/;
const READ = /\.(ts|mjs|cjs|lua|md|json|ya?ml|html|css)$/;

/** `wait-line.ts`, `WaitLine` and `#waitLine` are `wait line`. */
function wordsOf(text) {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[_#-]+/g, ' ')
    .toLowerCase();
}

/** @returns {string[]} one line for each place: `file:line: the word → what to write: the text` */
export function refusedWords(folders = ['.']) {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '--', ...folders], {
    cwd: root,
    encoding: 'utf8',
  });
  const files = listed
    .split('\n')
    .filter((file) => READ.test(file) && !OWN.test(file) && existsSync(join(root, file)));
  return files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    return [...inName(file), ...inText(file, text), ...clausesIn(file, text)];
  });
}

function inName(file) {
  // `queue.place.part.lua`: a file that several scripts include.
  const name = wordsOf(basename(file).replace(/(\.(part|section)\.lua|\.[a-z]+)$/, '')).split('.');
  return name.flatMap((words) => namesIn(words).map((problem) => `${file}: ${problem}`));
}

/** @returns {string[]} each refused word of a line, and what to write */
export function refusedIn(line) {
  const words = wordsOf(line);
  return REFUSED.filter(([pattern]) => pattern.test(words)).map(
    ([pattern, better]) => `"${pattern.exec(words)[0]}" → ${better}`,
  );
}

function inText(file, text) {
  return text.split('\n').flatMap((line, index) => {
    const found = refusedIn(line);
    const [, type] = /\b(?:class|interface|type) ([A-Z]\w+)/.exec(line) ?? [];
    if (type) found.push(...namesIn(wordsOf(type)));
    return found.map((problem) => `${file}:${index + 1}: ${problem}: ${line.trim().slice(0, 100)}`);
  });
}

/** Sentences, not questions, and names of tests that begin with a clause in place of a noun. */
export function clausesIn(file, text) {
  const lines = text.split('\n');
  const places = [];
  if (!file.endsWith('.json')) {
    for (const [index, line] of lines.entries()) {
      for (const match of line.matchAll(BEGINS)) {
        const sentence = [line.slice(match.index + 1), ...lines.slice(index + 1, index + 4)]
          .join(' ')
          .slice(match[0].length - 1);
        if (/^[^.?!|]*\?/.test(sentence)) continue;
        places.push([index, match[1], line]);
      }
    }
  }
  if (file.endsWith('.ts')) {
    for (const match of text.matchAll(TEST_NAME)) {
      const index = text.slice(0, match.index + match[0].length).split('\n').length - 1;
      places.push([index, match[1], lines[index]]);
    }
  }
  return places.map(
    ([index, word, line]) =>
      `${file}:${index + 1}: "${word} …" → a noun as the subject: ${line.trim().slice(0, 100)}`,
  );
}

export function namesIn(words) {
  return REFUSED_NAMES.filter(([pattern]) => pattern.test(words)).map(
    ([, better]) => `the name "${words}" → ${better}`,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = refusedWords(process.argv.length > 2 ? process.argv.slice(2) : ['.']);
  for (const line of found) console.log(line);
  console.log(`${found.length} places`);
  process.exitCode = found.length > 0 ? 1 : 0;
}
