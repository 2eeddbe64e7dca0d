import type { Activation } from '../../../policy/index.ts'
import type { EdgeResponse } from '../../response/response.ts'
import { ENDED, type Implementation } from '../implement.ts'
import { replaceResponse } from '../replace-response.ts'
import { guessContentType, renderFields } from './response.ts'

type Config = Parameters<Implementation<'custom-response'>['on_http_request']>[0]

function compile({ status_code: status, body: template, headers }: Config) {
  const hasType = headers.some(([name]) => name.toLowerCase() === 'content-type')
  return (activation: Activation): EdgeResponse => {
    const body = template?.evaluate(activation) ?? ''
    let fields = renderFields(headers, activation)
    if (!hasType && body !== '') fields += `content-type: ${guessContentType(body)}\r\n`
    return { status, fields, body: Buffer.from(body) }
  }
}

export const customResponse: Implementation<'custom-response'> = {
  on_http_request: compile,
  on_http_response(config) {
    const render = compile(config)
    return (execution) => {
      replaceResponse(execution, render(execution))
      return ENDED
    }
  },
}
