import { chargeLength } from '../compare.ts'
import { overload } from '../signature.ts'
import { EvaluationError } from '../values.ts'

/** Base64, with or without padding when it is decoded. */
export const encoders = [
  overload('base64.encode(bytes) -> string', (context, bytes: Uint8Array) => {
    chargeLength(context, bytes.length)
    return Buffer.from(bytes).toString('base64')
  }),
  overload('base64.decode(string) -> bytes', (context, text: string) => {
    chargeLength(context, text.length)
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw new EvaluationError('the text is not base64')
    return new Uint8Array(Buffer.from(text, 'base64'))
  }),
]
