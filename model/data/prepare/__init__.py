"""From text of any origin to a folder of mapped token arrays, in bounded memory."""
