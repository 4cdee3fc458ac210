/** Writes MaxMind databases that are small, after the specification of the format (version 2.0). */

type Value = string | number | readonly Value[] | { readonly [key: string]: Value };
type Node = { left: Node | Leaf | undefined; right: Node | Leaf | undefined };
type Leaf = { readonly data: number };

interface Options {
  readonly recordSize: 24 | 28 | 32;
  readonly ipVersion?: 4 | 6;
}

/** @param networks As `8.8.8.0/24` or `2001:db8::/32`; they must not overlap. In a database of IPv6, IPv4 stands in `::/96`. */
export function writeMmdb(
  networks: Readonly<Record<string, Value>>,
  { recordSize, ipVersion = 6 }: Options,
): Buffer {
  const root: Node = { left: undefined, right: undefined };
  const offsets = new Map<Value, number>();
  const data: Buffer[] = [];
  let dataLength = 0;
  for (const [network, value] of Object.entries(networks)) {
    if (!offsets.has(value)) {
      offsets.set(value, dataLength);
      const encoded = encode(value);
      data.push(encoded);
      dataLength += encoded.length;
    }
    insert(root, bitsOf(network, ipVersion), { data: offsets.get(value)! });
  }
  const nodes: Node[] = [root];
  const numbers = new Map<Node, number>([[root, 0]]);
  for (const { left, right } of nodes) {
    for (const side of [left, right]) {
      if (side && 'left' in side) numbers.set(side, nodes.push(side) - 1);
    }
  }
  const record = (side: Node | Leaf | undefined): number => {
    if (side === undefined) return nodes.length;
    return 'left' in side ? numbers.get(side)! : nodes.length + 16 + side.data;
  };
  const tree = nodes.map(({ left, right }) => encodeNode(record(left), record(right), recordSize));
  const metadata = {
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1_700_000_000,
    database_type: 'Test-City',
    description: { en: 'a test' },
    ip_version: ipVersion,
    languages: ['en'],
    node_count: nodes.length,
    record_size: recordSize,
  };
  const marker = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');
  return Buffer.concat([...tree, Buffer.alloc(16), ...data, marker, encode(metadata)]);
}

function bitsOf(network: string, ipVersion: 4 | 6): string {
  const [address, length] = network.split('/') as [string, string];
  if (!address.includes(':')) {
    const bits = address.split('.').map((part) => Number(part).toString(2).padStart(8, '0'));
    return (ipVersion === 6 ? '0'.repeat(96) : '') + bits.join('').slice(0, Number(length));
  }
  const [head = '', tail = ''] = address.split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const zeros = 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...Array.from({ length: zeros }, () => '0'), ...groups(tail)];
  const bits = all.map((group) => Number.parseInt(group, 16).toString(2).padStart(16, '0')).join('');
  return bits.slice(0, Number(length));
}

function insert(root: Node, bits: string, leaf: Leaf): void {
  let node = root;
  for (const [index, bit] of Array.from(bits).entries()) {
    const side = bit === '0' ? 'left' : 'right';
    if (index === bits.length - 1) node[side] = leaf;
    else node = (node[side] ??= { left: undefined, right: undefined }) as Node;
  }
}

function encodeNode(left: number, right: number, recordSize: 24 | 28 | 32): Buffer {
  const node = Buffer.alloc(recordSize / 4);
  if (recordSize === 32) {
    node.writeUInt32BE(left, 0);
    node.writeUInt32BE(right, 4);
  } else {
    node.writeUIntBE(left & 0xffffff, 0, 3);
    node.writeUIntBE(right & 0xffffff, node.length - 3, 3);
    if (recordSize === 28) node[3] = ((left >>> 24) << 4) | (right >>> 24);
  }
  return node;
}

const STRING = 2;
const UINT32 = 6;
const MAP = 7;
const ARRAY = 11;

function encode(value: Value): Buffer {
  if (typeof value === 'string') {
    const bytes = Buffer.from(value);
    return Buffer.concat([control(STRING, bytes.length), bytes]);
  }
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return Buffer.concat([control(UINT32, 4), bytes]);
  }
  if (Array.isArray(value)) {
    return Buffer.concat([control(ARRAY, value.length), ...(value as Value[]).map(encode)]);
  }
  const entries = Object.entries(value as Readonly<Record<string, Value>>);
  return Buffer.concat([
    control(MAP, entries.length),
    ...entries.flatMap(([key, item]) => [encode(key), encode(item)]),
  ]);
}

/** Sizes up to 284, which is enough here. */
function control(type: number, size: number): Buffer {
  const length = size < 29 ? size : 29;
  const head = type > 7 ? [length, type - 7] : [(type << 5) | length];
  return Buffer.from(size < 29 ? head : [...head, size - 29]);
}
