import type { CompletionNode } from '../../base/process/completion.ts'
import type { BindRequest, LabelRequest } from '../../protocol/index.ts'
import type { Output } from './options.ts'

/** Commands of other parts, loaded on demand. */
export interface ExternalCommands {
  /** The client of the management API; receives the arguments after `api`. */
  api(args: string[]): Promise<number>
  account: AccountCommands
  policy: PolicyCommands
  /** Throws the `ProtocolError` with which every server rejects the request of a tunnel. */
  loadRequestCheck(): Promise<(request: BindRequest | LabelRequest) => void>
  /** The text of `adit help CODE` and `adit help errors`. */
  explainErrors(topic: string): Promise<string>
  /** The commands and flags of other parts, for shell completion. */
  completion(): Promise<readonly CompletionNode[]>
}

/** Where the management API is, and the key for it. */
export interface ApiFlags {
  apiUrl: string | undefined
  apiKey: string | undefined
}

/** The account as one document; both return the exit code. */
export interface AccountCommands {
  apply(
    options: ApiFlags & { file: string | undefined; diff: boolean; prune: boolean; schema: boolean },
    terminal: Output,
  ): Promise<number>
  export(flags: ApiFlags, terminal: Output): Promise<number>
}

/** What stands for the outside when a request is run through a policy. */
export interface TrialFlags {
  edge: boolean
  json: boolean
  secrets: readonly string[]
  signedInAs: string | undefined
  ipData: readonly string[]
}

/** The commands of `adit policy`; all return the exit code. */
export interface PolicyCommands {
  check(
    file: string,
    options: {
      protocol: string | undefined
      edge: boolean
      json: boolean
      ipData: readonly string[]
    },
    terminal: Output,
  ): Promise<number>
  test(
    file: string,
    options: TrialFlags & {
      request: string | undefined
      headers: readonly string[]
      body: string | undefined
      clientIp: string | undefined
      responseStatus: string | undefined
      responseHeaders: readonly string[]
    },
    terminal: Output,
  ): Promise<number>
  explain(
    file: string,
    options: TrialFlags & {
      har: string | undefined
      entry: string | undefined
      capture: string | undefined
      webAddr: string | undefined
    },
    terminal: Output,
  ): Promise<number>
  fromEdge(id: string, flags: ApiFlags, terminal: Output): Promise<number>
}
