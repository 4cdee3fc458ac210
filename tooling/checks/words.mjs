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
  [/\b(is|are|was|were|be|been|being|gets|get) told\b/, 'notifies, is notified'],
  [/\b(hears?|heard) of\b/, 'learns'],
  [/\bdesks?\b/, 'claim fetcher'],
  [/\bsettlements?\b/, 'ack, completion'],
  [/\bset aside\b/, 'dead-lettered'],
  [/\btaken ahead\b/, 'prefetched'],
  [/\bhanded over\b/, 'direct hand-off'],
  [/\bbeyond the core\b/, 'optional features'],
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
  [/\b(for|after|in) so long\b|\bso long,/, 'meanwhile, the time itself'],
];

/** Refused as the name of a class or a file, since plain sentences need them. */
const REFUSED_NAMES = [
  [/^(wait |result )?lines?$/, 'wait queue'],
  [/\bturns?$/, 'acquisition'],
  [/\brests?$/, 'remainder'],
  [/\bparts?$/, 'segment'],
  [/\bnotes?$/, 'progress reports'],
  [/\bnews$/, 'updates'],
  [/\bask(s|ed)?$/, 'claim request'],
  [/\bheld$/, 'claimed tasks'],
  [/\bexchanges?$/, 'fetch and ack'],
  [/\bsettles?$/, 'ack'],
  [/\bholes?$/, 'tombstone'],
  [/\bsuppl(y|ies)$/, 'buffer'],
  [/\boutages?$/, 'circuit breaker'],
  [/\bstanding$/, 'position'],
  [/\bopening$/, 'open barrier'],
  [/\bfollowing$/, 'subscription'],
  [/\bprocessing$/, 'worker telemetry'],
  [/\bsending$/, 'producer telemetry'],
  [/^probes?$/, 'half-open probe'],
];

const SENTENCE_BEGINS = /(?:^|[.;:] )(?:\/?\*+ ?|\/\/ ?|-- ?)?\s*Who\b(?!.*\?)/;

/** This file and the test of it say what they look for. */
const OWN = /^tooling\/checks\/(words\.mjs|test\/words\.test\.ts)$/;
const READ = /\.(ts|mjs|cjs|lua|md)$/;

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
  return files.flatMap((file) => [...inName(file), ...inText(file, readFileSync(join(root, file), 'utf8'))]);
}

function inName(file) {
  // `queue.place.part.lua`: a part that several scripts include.
  const name = wordsOf(basename(file).replace(/(\.part)?\.[a-z]+$/, '')).split('.');
  return name.flatMap((words) => named(words).map((problem) => `${file}: ${problem}`));
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
    if (SENTENCE_BEGINS.test(line.trim())) found.push('"Who …" → a noun as the subject');
    const [, type] = /\b(?:class|interface|type) ([A-Z]\w+)/.exec(line) ?? [];
    if (type) found.push(...named(wordsOf(type)));
    return found.map((problem) => `${file}:${index + 1}: ${problem}: ${line.trim().slice(0, 100)}`);
  });
}

function named(words) {
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
