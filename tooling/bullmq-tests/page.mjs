/** The page of what passes. */
export function pageOf(version, counts, { reasons, files }) {
  const passed = sum(counts.map((one) => one.passed));
  const total = sum(counts.map((one) => one.total));
  const perReason = new Map(Object.keys(reasons).map((reason) => [reason, 0]));
  for (const reason of Object.values(files).flatMap((tests) => Object.values(tests))) {
    perReason.set(reason, (perReason.get(reason) ?? 0) + 1);
  }
  return `---
title: BullMQ's own tests
description: How many of BullMQ's tests pass with @mortise/queues/bullmq, and why the others fail.
---

# BullMQ's own tests

<!-- Made by \`UPDATE_DOCS=1 npm run bullmq-tests\`. -->

The tests of BullMQ ${version} run against \`@mortise/queues/bullmq\` in place of BullMQ's classes: ${passed} of ${total} pass
(${Math.floor((100 * passed) / total)} %).

| File of BullMQ | Pass | Tests |
| --- | --- | --- |
${counts.map((one) => `| \`${one.file}.test.ts\` | ${one.passed} | ${one.total} |`).join('\n')}

## Why the others fail

| Reason | Tests |
| --- | --- |
${[...perReason].map(([reason, count]) => `| ${reasons[reason]} | ${count} |`).join('\n')}

\`tooling/bullmq-tests/failures.json\` names each of them. The files \`*.redis.test.ts\` are left out: they read BullMQ's own keys in Redis.

## Run them

\`\`\`sh
git clone https://github.com/taskforcesh/bullmq
BULLMQ_SOURCE=$PWD/bullmq npm run bullmq-tests
\`\`\`

A test that fails and isn't listed fails the run. So does a listed test that passes, unless its reason is a matter of timing.
`;
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}
