"""Two tritonservers under the same load: our translator, and CTranslate2 with dynamic batching."""
