import { CODINGS, compressResponse as compress } from '../../modules/compression.ts'
import type { Implementation } from '../implement.ts'

export const compressResponse: Implementation<'compress-response'> = {
  on_http_response({ algorithms }) {
    // No client sends the coding of the program compress any more.
    const codings = CODINGS.filter((coding) => algorithms.includes(coding))
    return (execution) => {
      const { exchange, response } = execution
      const encoding = response.fields.get('content-encoding')
      const already_compressed = encoding !== undefined && encoding.toLowerCase() !== 'identity'
      // What another action has put in the place of the body is sent as it is.
      const coding = response.body === undefined ? compress(exchange, response, codings) : undefined
      execution.results.compress = {
        already_compressed,
        ...(coding !== undefined && { negotiated_algorithm: coding }),
      }
      execution.headersChanged()
      return undefined
    }
  },
}
