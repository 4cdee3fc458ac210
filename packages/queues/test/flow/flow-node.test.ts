import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { FlowTask } from '@mortise/queues';
import type { FlowNode } from '../../src/flow/flow-node.js';
import { decodeNode, makeFlow } from '../../src/flow/flow-node.js';
import { codePoint } from '../fixture/code-points.js';
import { CHILD, decodeRecord, PARENT, RecordDraft } from '../../src/task/record.js';
import { decodeTaskId, encodeTaskId } from '../../src/task/task-id.js';

const RUNS = Number(process.env['MORTISE_MODEL_RUNS'] ?? 67);
const text = fc.string({ minLength: 1, maxLength: 40, unit: codePoint });
const treeOf = (levels: number): fc.Arbitrary<FlowTask> =>
  fc.record({
    queue: text,
    name: text,
    payload: fc.jsonValue(),
    options: fc.record(
      { priority: text.filter((value) => Buffer.byteLength(value) < 33), group: text },
      { requiredKeys: [] },
    ),
    onChildFailure: fc.constantFrom('fail' as const, 'ignore' as const),
    children: levels === 1 ? fc.constant([]) : fc.array(treeOf(levels - 1), { maxLength: 3 }),
  });

function make(root: FlowTask) {
  return makeFlow('q', root, (_, name, payload, { id, priority, group }, flags, extras) => ({
    id,
    storedId: encodeTaskId(id!),
    priority,
    group,
    usesOptional: true,
    checking: undefined,
    record: new RecordDraft({ name, payload, attempts: 1, when: 0, extras, group, flags }, 10_000),
  }));
}

function check(
  node: FlowNode,
  task: FlowTask,
  parent: { queue: string; id: string; index: number } | undefined,
): void {
  const { children = [], options, queue } = task;
  const { flags, extras, name, payload, group } = decodeRecord(node.record);
  expect(node).toMatchObject({ queue, policy: task.onChildFailure === 'fail' ? 1 : 0 });
  expect([node.priority, node.group, group]).toEqual([options?.priority, options?.group, options?.group]);
  expect([name, JSON.parse(payload)]).toEqual([task.name, JSON.parse(JSON.stringify(task.payload))]);
  expect((flags & CHILD) > 0).toBe(parent !== undefined);
  expect((flags & PARENT) > 0).toBe(children.length > 0);
  const { queue: of, id, index: at } = extras.parent ?? {};
  expect(parent ? { queue: of, id, index: at } : extras.parent).toEqual(parent);
  expect(node.children).toHaveLength(children.length);
  for (const [index, child] of children.entries()) {
    const decoded = decodeNode(node.children[index]!);
    check(decoded, child, { queue: node.queue, id: decodeTaskId(node.storedId), index });
    expect(decodeRecord(decoded.record).extras.parent!.flow).toBe(node.flow.toString('hex'));
  }
}

test('the children are stored as they were given, at any depth', () => {
  fc.assert(
    fc.property(treeOf(4), (root) => {
      const first = make({ ...root, options: { ...root.options, id: 'root' } });
      check(first.root, root, undefined);
      // With the same id of the root, all tasks have the same ids again.
      expect(make({ ...root, options: { ...root.options, id: 'root' } }).ids).toEqual(first.ids);
    }),
    { numRuns: RUNS },
  );
});
