import type { CapturedMessage, CaptureView } from '../../../agent/local-api/page-data.ts'
import { stripPort } from '../../shared/units.ts'
import { listFrames } from '../api.ts'
import { detectKind, parseMediaType, parsePairs, parseQueryString } from '../message/content.ts'
import { decodeText, type Message, parseMessages, toBase64 } from '../message/message.ts'
import { requestUrl } from './copy-as.ts'
import { redactCredentials } from './credential-headers.ts'

const PAGE_SIZE = 500

/** Converts captures to an HTTP archive (HAR 1.2), oldest first. */
export async function toHar(captures: readonly CaptureView[], version: string): Promise<object> {
  const entries: object[] = []
  for (const capture of captures) entries.push(await toEntry(capture))
  return { log: { version: '1.2', creator: { name: 'Adit', version }, entries } }
}

async function toEntry(capture: CaptureView): Promise<object> {
  const { request, response } = await parseMessages(capture)
  const time = capture.duration / 1e6
  return {
    startedDateTime: capture.start,
    time,
    request: {
      method: capture.request.method,
      url: requestUrl(capture, undefined),
      httpVersion: capture.request.proto,
      cookies: [],
      headers: toHeaders(request),
      queryString: toNameValues(parseQueryString(capture.request.uri)),
      ...toSizes(capture.request, request),
      ...(request.body.length > 0 ? { postData: toPostData(request) } : {}),
    },
    response: {
      status: capture.response?.status_code ?? 0,
      statusText: capture.response?.status.replace(/^\d+ ?/, '') ?? '',
      httpVersion: capture.response?.proto ?? '',
      cookies: [],
      headers: response ? toHeaders(response) : [],
      redirectURL: capture.response?.headers.Location?.[0] ?? '',
      ...(capture.response && response
        ? toSizes(capture.response, response)
        : { headersSize: -1, bodySize: -1 }),
      content: toContent(response),
    },
    ...(capture.frames && capture.response?.status_code === 101
      ? { _resourceType: 'websocket', _webSocketMessages: await loadWebSocketMessages(capture.id) }
      : {}),
    cache: {},
    timings: { send: 0, wait: time, receive: 0 },
    comment: [
      `${capture.id} from ${stripPort(capture.remote_addr)}`,
      ...request.notes,
      ...(response?.notes ?? []),
    ].join(' '),
  }
}

/** WebSocket messages in the format browsers use in HAR files: opcode, and text or base64. */
async function loadWebSocketMessages(id: string): Promise<object[]> {
  const messages: object[] = []
  for (let after = 0; ; ) {
    const { frames } = await listFrames(id, after, PAGE_SIZE)
    for (const { from, time, kind, opcode, text, base64, index } of frames) {
      after = index
      if (kind !== 'text' && kind !== 'binary') continue
      const type = from === 'client' ? 'send' : 'receive'
      messages.push({ type, time: Date.parse(time) / 1000, opcode, data: text ?? base64 ?? '' })
    }
    if (frames.length < PAGE_SIZE) return messages
  }
}

const toHeaders = ({ headers }: Message) => toNameValues(redactCredentials(headers))

const toNameValues = (pairs: readonly [string, string][]) => pairs.map(([name, value]) => ({ name, value }))

const toSizes = (captured: CapturedMessage, message: Message) => ({
  headersSize: message.headers.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 2),
  bodySize: captured.body_size,
})

function toPostData(message: Message): object {
  const text = decodeText(message.body)
  const form = detectKind(message.contentType, message.body.length, text) === 'form'
  return {
    mimeType: message.contentType,
    text: text ?? toBase64(message.body),
    ...(form ? { params: toNameValues(parsePairs(text ?? '')) } : {}),
    ...(text === undefined ? { comment: 'base64' } : {}),
  }
}

function toContent(message: Message | undefined): object {
  if (!message) return { size: 0, mimeType: '' }
  const text = decodeText(message.body)
  const type = message.contentType || parseMediaType('application/octet-stream')
  if (text !== undefined) return { size: message.body.length, mimeType: type, text }
  return { size: message.body.length, mimeType: type, text: toBase64(message.body), encoding: 'base64' }
}
