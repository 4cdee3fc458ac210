import type { Chats } from '@mortise/messaging';
import { InjectChats, MessagingModule } from '@mortise/messaging/nestjs';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');

@Injectable()
class Lunch {
  constructor(@InjectChats() private readonly chats: Chats<string>) {}

  async ask(sender: string, member: string): Promise<string[]> {
    const { chatId } = await this.chats.create({ sender, members: [member], body: 'Lunch?' });
    const [unread] = await this.chats.pull(member);
    await this.chats.ack(chatId, member, unread!.lastId);
    return unread!.messages.map(({ from, body }) => `${from}: ${body}`);
  }
}

@Module({ imports: [MessagingModule.forRoot({ redis, prefix: 'start-nestjs' })], providers: [Lunch] })
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
console.log(await app.get(Lunch).ask('jill', 'jack'));
await app.close();
await redis.quit();

// Output:
// [ 'jill: Lunch?' ]
