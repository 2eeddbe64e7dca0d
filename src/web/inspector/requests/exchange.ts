import type { CaptureView } from '../../../agent/local-api/page-data.ts'
import { getCapture } from '../api.ts'
import { type Message, parseMessages } from '../message/message.ts'

/** An exchange with its parsed messages. */
export interface LoadedExchange {
  capture: CaptureView
  request: Message
  response: Message | undefined
}

/** Loads an exchange with its bytes. */
export async function loadExchange(id: string): Promise<LoadedExchange> {
  const capture = await getCapture(id)
  return { capture, ...(await parseMessages(capture)) }
}
