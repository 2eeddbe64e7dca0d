import { Card } from '../../kit/index.ts'
import type { ExtraProps } from '../../page-contracts.ts'
import { ErrorPagePreview } from './error-page-preview.tsx'

/** The preview on the page of an error page. */
export default function SavedErrorPage({ item }: ExtraProps) {
  return (
    <Card>
      <ErrorPagePreview html={String(item.html)} status={String(item.status)} />
    </Card>
  )
}
