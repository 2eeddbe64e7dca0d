import { Card, notify, Page } from '../../kit/index.ts'
import { go } from '../../route.ts'
import { NewBackend } from './backend-form.tsx'

/** Makes a backend outside of any edge. */
export default function NewBackendPage() {
  return (
    <Page title="New backend" back={{ path: '/backends', title: 'Backends' }} lead="Who should answer?">
      <Card>
        <NewBackend
          onCancel={() => go('/backends')}
          onDone={({ id }) => {
            notify('Created.')
            go(`/backends/${id}`, { replace: true })
          }}
        />
      </Card>
    </Page>
  )
}
