import type { HttpResponseBackend } from '../../resources/index.ts'
import type { Answer } from '../answer.ts'
import { isFieldValue } from '../ascii.ts'
import type { Kept } from '../snapshot.ts'
import { nobody } from './choice.ts'
import type { BackendBuild } from './world.ts'

/** Fields that frame the answer or belong to the connection; the edge writes them. */
const OURS = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Answers every request with the same response. */
export const httpResponse: BackendBuild<Kept<typeof HttpResponseBackend>> = (
  { status_code, headers, body },
  { http },
) => {
  if (!http) return nobody
  let fields = ''
  for (const [name, value] of Object.entries(headers ?? {})) {
    // Fields carry bytes: text beyond Latin-1 goes out in UTF-8.
    const bytes = Buffer.from(value).toString('latin1')
    if (!OURS.has(name) && isFieldValue(bytes)) fields += `${name}: ${bytes}\r\n`
  }
  const answer: Answer = { status: status_code, fields, body: Buffer.from(body) }
  return { online: () => true, first: () => answer, next: () => answer }
}
