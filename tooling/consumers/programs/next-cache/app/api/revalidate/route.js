import { revalidatePath, revalidateTag } from 'next/cache';

export async function POST(request) {
  const { tag, path, profile } = await request.json();
  if (path) revalidatePath(path);
  else revalidateTag(tag, profile ?? { expire: 0 });
  return new Response(null, { status: 204 });
}
