/** A channel as the API tells it to operators, with its oldest files. */
export interface ChannelStatus {
  readonly isEnded: boolean;
  /** Files that some receiver is not done with. */
  readonly listed: number;
  /** Of all of them. */
  readonly storedBytes: number;
  readonly receivers: readonly Receiver[];
  readonly files: readonly File[];
}

interface Receiver {
  readonly receiver: string;
  readonly isActive: boolean;
}

export interface File {
  readonly id: string;
  readonly number: number;
  readonly name: string;
  readonly state: 'open' | 'closed' | 'aborted';
  readonly bytes: number;
  readonly storedBytes: number;
  readonly listedAt: number;
  readonly reason?: string;
  /** Receivers that are not done with it. */
  readonly pending: number;
  /** Those that are furthest behind, the slowest first; ten at most. */
  readonly slowest: readonly { readonly receiver: string; readonly ackedBytes: number }[];
}

/** The files that wait for a receiver. */
export interface Left {
  readonly files: number;
  readonly bytes: number;
  /** Files that wait for no other receiver. */
  readonly alone: number;
}

/** Of the files that are shown. */
export function leftOf({ files }: ChannelStatus, receiver: string): Left {
  const its = files.flatMap(({ bytes, pending, slowest }) => {
    const found = slowest.find((each) => each.receiver === receiver);
    return found ? [{ bytes: bytes - found.ackedBytes, isAlone: pending === 1 }] : [];
  });
  return {
    files: its.length,
    bytes: its.reduce((sum, { bytes }) => sum + bytes, 0),
    alone: its.filter(({ isAlone }) => isAlone).length,
  };
}

/** Whether the shown files are all, with all of their receivers. */
export function isWhole({ files, listed }: ChannelStatus): boolean {
  return files.length === listed && files.every(({ pending, slowest }) => pending === slowest.length);
}
