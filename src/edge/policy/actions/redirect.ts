import { PolicyFailure } from '../../contracts/policy-failure.ts'
import { isFieldValue } from '../../message/ascii.ts'
import { toFieldValue } from '../../message/field-values.ts'
import type { Implementation } from '../implement.ts'
import { rewriteUrl } from '../rewrite.ts'
import { renderFields } from './response.ts'

export const redirect: Implementation<'redirect'> = {
  on_http_request({ from, to, status_code: status, headers }) {
    return (execution) => {
      const { url, text, matches } = rewriteUrl(execution, { from, to })
      execution.results.redirect = { url: text, matches }
      if (text === url || matches.length === 0) return undefined
      const location = toFieldValue(text)
      if (!isFieldValue(location))
        throw new PolicyFailure('the URL of the redirect cannot be sent in a header')
      const fields = `Location: ${location}\r\n${renderFields(headers, execution)}`
      return { status, fields, body: Buffer.alloc(0) }
    }
  },
}
