export type { ChannelStatus, ChannelFile, PendingReceiver } from './channel/channel-status.js';
export { FileChannel } from './channel/file-channel.js';
export type { FileRef } from './channel/file-channel.js';
export { FileSegment } from './channel/file-segment.js';
export {
  ChannelRefusedError,
  FileAbortedError,
  FileForgottenError,
  FileUnreadableError,
  ReceiverBusyError,
  ReceiversDifferError,
  SourceChangedError,
} from './errors.js';
export type { FilesModuleOptions } from './files.js';
export { Files } from './files.js';
export type { ListedFile, SentUnderId } from './listed-file.js';
export type {
  ChannelStatusOptions,
  FileChannelOptions,
  FileProgress,
  FileReceiverOptions,
  FileSenderOptions,
  FilesOptions,
  ListFilesOptions,
  LineOptions,
  ReadOptions,
  SendFileOptions,
} from './options.js';
export { FileReceiver } from './receive/file-receiver.js';
export { IncomingFile } from './receive/incoming-file.js';
export type { ReceiverLease } from './receive/reading.js';
export type { ChannelReceiver } from './receivers.js';
export { FileSender } from './send/file-sender.js';
export type { SentFile } from './send/sent-file.js';
export { ClientClosedError, LeaseLostError } from '@mortise/redis';
export type { Telemetry } from '@mortise/redis';
