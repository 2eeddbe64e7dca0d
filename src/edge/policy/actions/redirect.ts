import { requestUrl, urlText } from '../../../policy/index.ts'
import { isFieldValue } from '../../message/ascii.ts'
import { toFieldValue } from '../../message/own-fields.ts'
import { PolicyFailure } from '../failure.ts'
import type { Implementation } from '../implement.ts'
import { patternOf, replaceAll } from '../rewrite.ts'
import { renderFields } from './response.ts'

export const redirect: Implementation<'redirect'> = {
  on_http_request({ from, to, status_code: status, headers }) {
    return (execution) => {
      const url = urlText(requestUrl(execution))
      const target = to.evaluate(execution)
      const rewritten =
        from === undefined
          ? { text: target, matches: [url] }
          : replaceAll(url, patternOf(from, execution), target)
      execution.results.redirect = { url: rewritten.text, matches: rewritten.matches }
      if (rewritten.text === url || rewritten.matches.length === 0) return undefined
      const location = toFieldValue(rewritten.text)
      if (!isFieldValue(location))
        throw new PolicyFailure('the URL of the redirect cannot be sent in a header')
      const fields = `Location: ${location}\r\n${renderFields(headers, execution)}`
      return { status, fields, body: Buffer.alloc(0) }
    }
  },
}
