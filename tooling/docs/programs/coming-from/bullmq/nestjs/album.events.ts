import { OnQueueEvent, QueueEventsHost, QueueEventsListener } from '@nestjs/bullmq';

@QueueEventsListener('albums')
export class AlbumEvents extends QueueEventsHost {
  readonly added: string[] = [];

  @OnQueueEvent('added')
  onAdded({ name }: { name: string }): void {
    this.added.push(name);
  }
}
